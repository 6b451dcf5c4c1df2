// Small helpers to build elements; text is always text, never HTML.

export const at = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const grouped = new Intl.NumberFormat("en");
export const number = (value) => grouped.format(value);

export function many(count, one, more) {
  return `${number(count)} ${count === 1 ? one : more}`;
}
