/** A text or a document: words shaded by weight, and a bar for each sentence. */
function textView(view) {
  const box = element("section", element("h3", view.name), { className: "view" });
  if (view.mechanism) box.append(element("p", view.mechanism, { className: "mechanism" }));
  const shades = bytesOf(view.shades);
  const weights = view.weights && bytesOf(view.weights);
  const said = element("p", "", { className: "said one" });
  said.setAttribute("role", "status");
  const words = [];
  let first = 0;
  const heaviest = Math.max(0, ...view.sentences.map((sentence) => sentence.weight || 0));
  const body = element("div", "", { className: "text" });
  const tell = (place) => words[place] && said.replaceChildren(...words[place].told);
  view.sentences.forEach((sentence) => {
    const line = element("div", "", { className: "sentence", dir: direction(sentence.words) });
    if (sentence.weight !== null) {
      const bar = element("span", "", { className: "bar", title: `weight of the sentence: ${weight(sentence.weight)}` });
      bar.style.setProperty("--share", String(heaviest > 0 ? sentence.weight / heaviest : 0));
      line.append(element("span", [bar, element("span", weight(sentence.weight), { className: "value" })], { className: "weight" }));
    }
    const text = element("p");
    sentence.words.forEach((word, at) => {
      const place = first + at;
      const blank = word.startsWith(" ") && at > 0 ? " " : "";
      const item = element("button", visible(word.trim()), { type: "button", className: "word" });
      const told = [quoted(visible(word.trim()))];
      if (weights) told.push(` weight ${weight((weights[place] * view.largest) / 255)}`);
      if (sentence.weight !== null) told.push(`${weights ? ", in" : " in"} a sentence of weight ${weight(sentence.weight)}`);
      words.push({ item, told });
      item.addEventListener("mouseenter", () => tell(place));
      text.append(blank, item);
    });
    first += sentence.words.length;
    line.append(text);
    body.append(line);
  });
  roving(words.map(({ item }) => item), 1, tell);
  tell(Math.max(0, shades.indexOf(shades.reduce((one, other) => Math.max(one, other), 0))));
  box.append(said, body);
  redrawn.push(() => words.forEach(({ item }, place) => shade(item, shades[place] / 255)));
  return box;
}
