/** The form of a page that is served on this machine; a page in a file has none. */
function askForm(form, showAnswer) {
  const fields = [];
  const field = (label, made) => {
    fields.push(made);
    return element("label", [element("span", label, { className: "label" }), made], { className: "field" });
  };
  const text = (label) => field(label, element("textarea", "", { rows: 2, dir: "auto", required: true, spellcheck: false }));
  const number = (label, value, needed) => field(label, element("input", "", { type: "number", min: 0, step: 1, value, required: needed }));
  const parts = {
    text: () => [text("text")],
    pair: () => [text("left text"), text("right text")],
    picture: () => [field("picture", element("input", "", { type: "file", accept: "image/*", required: true }))],
    game: () => [number("seed", "1", true), ...(form.takesLength ? [number("length", "", false)] : [])],
  };
  const button = element("button", "show", { type: "submit" });
  const status = element("p", "", { className: "hint" });
  status.setAttribute("role", "status");
  const made = element("form", [...parts[form.kind](), button, status], { className: "ask" });

  const encoded = (file) =>
    new Promise((done, failed) => {
      const reader = new FileReader();
      reader.addEventListener("load", () => done(reader.result.slice(reader.result.indexOf(",") + 1)));
      reader.addEventListener("error", () => failed(reader.error));
      reader.readAsDataURL(file);
    });
  async function question() {
    if (form.kind === "picture") return { picture: await encoded(fields[0].files[0]), name: fields[0].files[0].name };
    if (form.kind !== "game") return { texts: fields.map((one) => one.value) };
    const [seed, length] = fields.map((one) => (one.value === "" ? null : Number(one.value)));
    return { seed, length: length === undefined ? null : length };
  }
  let latest = 0;
  async function ask(event) {
    event.preventDefault();
    const number = (latest += 1);
    status.textContent = "working …";
    try {
      const body = JSON.stringify(await question());
      const answer = await fetch("/ask", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      const found = await answer.json();
      if (number !== latest) return; // a newer question is under way
      status.textContent = found.error || "";
      if (!found.error) showAnswer(found);
    } catch (error) {
      if (number === latest) status.textContent = `no answer: ${error.message}`;
    }
  }
  made.addEventListener("submit", ask);
  for (const one of fields)
    one.addEventListener("keydown", (event) => {
      if (one.tagName !== "TEXTAREA" || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      made.requestSubmit();
    });
  if (form.kind === "picture") fields[0].addEventListener("change", () => fields[0].files.length && made.requestSubmit());
  return made;
}
