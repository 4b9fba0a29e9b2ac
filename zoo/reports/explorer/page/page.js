const views = {
  ...{ tokens: tokenView, text: textView },
  ...{ picture: pictureView, glimpses: glimpseView, memory: memoryView },
};

function answerLine(answer) {
  const line = element("li");
  if (answer.probability !== null) {
    const bar = element("span", "", { className: "bar" });
    bar.style.setProperty("--share", String(answer.probability));
    line.append(bar, element("span", share(answer.probability), { className: "value" }));
  }
  line.append(quoted(answer.text || "(nothing)", "answer"));
  if (answer.note) line.append(element("span", answer.note, { className: "value" }));
  return line;
}

/** The best answer, and the others: behind a click where they are long. */
function answerList(answers) {
  const list = (some) => element("ol", some.map(answerLine), { className: "answers" });
  if (answers.reduce((sum, answer) => sum + answer.text.length, 0) < 600) return [list(answers)];
  const others = element("details", [element("summary", `${answers.length - 1} more`), list(answers.slice(1))]);
  return answers.length > 1 ? [list(answers.slice(0, 1)), others] : [list(answers)];
}

function runBox(run) {
  const box = element("article", element("h2", quoted(run.name, "")), { className: "run" });
  box.append(...answerList(run.answers));
  if (run.notes.length) box.append(element("ul", run.notes.map((note) => element("li", note)), { className: "notes" }));
  run.views.forEach((view) => box.append(views[view.kind](view)));
  return box;
}

function showAll(data) {
  followers.length = redrawn.length = 0;
  find("given").textContent = data.given;
  find("given-section").hidden = !data.runs.length;
  find("runs").replaceChildren(...data.runs.map(runBox));
  redraw();
}

find("theme").addEventListener("click", () => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const shown = document.documentElement.dataset.theme || (isDark ? "dark" : "light");
  document.documentElement.dataset.theme = shown === "dark" ? "light" : "dark";
  redraw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) redraw(); // a phone's bars change the height alone
  width = innerWidth;
});
const first = JSON.parse(find("data").textContent);
if (first.form) find("ask").append(askForm(first.form, showAll));
showAll(first);
