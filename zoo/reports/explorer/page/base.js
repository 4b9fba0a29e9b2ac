const find = (id) => document.getElementById(id);

function element(tag, content = "", properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...(Array.isArray(content) ? content : [content]));
  return made;
}

/** A text from outside: whatever its direction, it moves nothing beside it. */
const quoted = (text, className = "quoted") => element("bdi", text, { className });

/** A weight in two digits: it is known to 1/255 of the largest. */
function weight(value) {
  if (value >= 0.1 || value === 0) return value.toFixed(2);
  return value < 1e-6 ? "<0.000001" : String(Number(value.toPrecision(2)));
}
/** A probability in three digits; what is nearly nothing is not nothing. */
const share = (value) => (value > 0 && value < 0.0005 ? "<0.001" : value.toFixed(3));

/** A token as it can be seen. */
const signs = { "\n": "↵", "\t": "⇥", "\r": "␍", " ": "␣", "": "∅" };
function visible(token) {
  if (token in signs) return signs[token];
  return token.replace(/[\n\t\r]/g, (sign) => signs[sign]).replace(/^ +| +$/g, (blanks) => "␣".repeat(blanks.length));
}

/** The direction in which words are read: that of their first letter. */
function direction(words) {
  const letter = words.join(" ").match(/\p{L}/u);
  const isLeft = letter && /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(letter[0]);
  return isLeft ? "rtl" : "ltr";
}

const bytesOf = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

// Colours of weights: from the page's ground to the colour that it reads in, in both themes.
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const numbersOf = (hex) => [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16));
let scale = [[], []];
function readColours() {
  scale = [numbersOf(style("--none")), numbersOf(style("--much"))];
}
/** Red, green and blue of a share from 0 to 1. */
const colour = (part) => scale[0].map((none, place) => Math.round(none + part * (scale[1][place] - none)));
/** Shades an element by a share from 0 to 1. */
function shade(shaded, part) {
  shaded.style.backgroundColor = part > 0 ? `rgb(${colour(part).join(" ")})` : "";
  shaded.classList.toggle("deep", part > 0.55);
}
const redrawn = []; // functions that draw anew when the theme or the width changes
const redraw = () => {
  readColours();
  redrawn.forEach((draw) => draw());
};

/** Paints a matrix onto a canvas, a pixel for each cell; the style makes it larger. */
function paint(canvas, values, rows, columns, largest) {
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const ramp = Array.from({ length: 256 }, (_, level) => colour(level / 255));
  for (let place = 0; place < rows * columns; place += 1) {
    const level = largest > 0 ? Math.round((255 * values[place]) / largest) : 0;
    image.data.set(ramp[Math.min(255, level)], 4 * place);
    image.data[4 * place + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

/** One of many that the tab key reaches; arrow keys go from one to the next, `columns` lead up and down. */
function roving(items, columns, choose) {
  items.forEach((item, place) => {
    item.tabIndex = place === 0 ? 0 : -1;
    item.addEventListener("focus", () => {
      items.forEach((other) => (other.tabIndex = other === item ? 0 : -1));
      choose(place);
    });
    item.addEventListener("keydown", (event) => {
      const right = getComputedStyle(item.parentElement).direction === "rtl" ? -1 : 1;
      const steps = {
        ...{ ArrowRight: right, ArrowLeft: -right, ArrowDown: columns, ArrowUp: -columns },
        ...{ Home: -place, End: items.length - 1 - place },
      };
      const next = items[place + steps[event.key]];
      if (!(event.key in steps)) return;
      event.preventDefault();
      if (next) next.focus();
    });
  });
}

/** What was chosen in one view is chosen in all that show the same words, in other runs, too. */
const followers = [];
function tell(source, words, place) {
  followers.forEach((one) => one.view !== source && one.follow(words, place));
}
