// The OpenAPI document as a page, without anything from elsewhere.

import { at, make } from "./dom.js";

const METHODS = ["get", "post", "put", "delete"];

const named = (reference) => reference.split("/").pop();

function kind(schema = {}) {
  if (schema.$ref) return [make("a", { href: `#${named(schema.$ref)}` }, named(schema.$ref))];
  if (schema.anyOf) {
    return schema.anyOf.flatMap((one, place) => (place ? [" or ", ...kind(one)] : kind(one)));
  }
  if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(" | ")];
  if (schema.type === "array") return ["list of ", ...kind(schema.items)];
  if (schema.additionalProperties?.type || schema.additionalProperties?.$ref) {
    return ["map to ", ...kind(schema.additionalProperties)];
  }
  return [schema.format ?? schema.type ?? "anything"];
}

function table(rows) {
  return make(
    "div",
    { class: "wide", tabindex: "0", role: "group", "aria-label": "Fields" },
    make(
      "table",
      {},
      make("thead", {}, make("tr", {}, ...["Name", "Type", "Meaning"].map((one) => make("th", { scope: "col" }, one)))),
      make("tbody", {}, ...rows),
    ),
  );
}

function row(name, schema, required, words) {
  const preset = schema?.default === undefined || schema.default === null ? "" : ` Default: ${JSON.stringify(schema.default)}.`;
  return make(
    "tr",
    {},
    make("td", {}, make("code", {}, name), required ? "" : make("small", {}, " optional")),
    make("td", {}, ...kind(schema)),
    make("td", {}, `${words ?? schema?.description ?? ""}${preset}`),
  );
}

const fields = (schema) =>
  Object.entries(schema.properties ?? {}).map(([name, one]) =>
    row(name, one, (schema.required ?? []).includes(name)));

function operation(method, path, told) {
  const parts = [
    make("h3", {}, make("span", { class: "method" }, method.toUpperCase()), make("code", {}, path)),
    make("p", {}, told.description ?? told.summary ?? ""),
  ];
  if (told.parameters?.length) {
    parts.push(make("h4", {}, "Parameters"));
    parts.push(table(told.parameters.map((one) => row(one.name, one.schema, one.required, one.description))));
  }
  for (const [media, { schema }] of Object.entries(told.requestBody?.content ?? {})) {
    parts.push(make("h4", {}, "Body"), make("p", {}, make("code", {}, media), " ", ...kind(schema)));
    if (schema.properties) parts.push(table(fields(schema)));
  }
  const answer = Object.entries(told.responses).find(([code]) => code.startsWith("2"))?.[1];
  for (const [media, { schema }] of Object.entries(answer?.content ?? {})) {
    parts.push(make("h4", {}, "Answer"), make("p", {}, make("code", {}, media), " ", ...kind(schema)));
  }
  return make("section", { class: "operation" }, ...parts);
}

const document_ = await (await fetch("/openapi.json")).json();
const operations = Object.entries(document_.paths).flatMap(([path, methods]) =>
  METHODS.filter((one) => methods[one]).map((one) => operation(one, path, methods[one])));
const schemas = Object.entries(document_.components.schemas)
  .filter(([, schema]) => schema.properties)
  .map(([name, schema]) =>
    make(
      "section",
      { class: "operation", id: name },
      make("h3", {}, name),
      make("p", {}, schema.description ?? ""),
      table(fields(schema)),
    ));
at("docs").replaceChildren(
  make("p", {}, "Every error has the form ", make("code", {}, '{"error": {"kind": …, "message": …}}'), "."),
  make("h2", {}, "Requests"), ...operations, make("h2", {}, "Forms"), ...schemas,
);
