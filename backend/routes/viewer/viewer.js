// Shows /api/openapi.json: every operation with its parameters, body and answers. Needs nothing from elsewhere.
"use strict";

const element = (tag, text, ...children) => {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
};

const nameOf = (schema) => (schema && schema.$ref ? schema.$ref.split("/").pop() : null);

const typeOf = (schema) => {
  if (!schema) return "any";
  if (schema.$ref) return nameOf(schema);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.type === "array") return `${typeOf(schema.items)}[]`;
  return schema.type || "any";
};

const table = (rows) => {
  const made = element("table");
  for (const cells of rows) made.append(element("tr", "", ...cells.map((cell) => element("td", cell))));
  return made;
};

const fieldsOf = (schema, spec) => {
  const model = spec.components.schemas[nameOf(schema)];
  if (!model || !model.properties) return element("pre", typeOf(schema));
  const required = new Set(model.required || []);
  return table(
    Object.entries(model.properties).map(([name, field]) => [
      name, typeOf(field), required.has(name) ? "required" : "", field.description || "",
    ]),
  );
};

const contentOf = (content, spec) =>
  Object.entries(content || {}).map(([media, { schema }]) => {
    const summary = element("summary", `${media} ${nameOf(schema) || ""}`);
    return element("details", "", summary, element("div", "", fieldsOf(schema, spec)));
  });

const operationOf = (path, method, operation, spec) => {
  const label = element("span", method.toUpperCase());
  label.className = "method";
  const summary = element("summary", "", label, element("code", path), ` ${operation.summary || ""}`);
  const body = element("div");
  body.className = "body";
  if (operation.parameters.length) {
    body.append(element("h4", "Parameters"));
    body.append(table(operation.parameters.map((p) => [p.name, p.in, typeOf(p.schema), p.required ? "required" : ""])));
  }
  if (operation.requestBody) {
    body.append(element("h4", "Body"), ...contentOf(operation.requestBody.content, spec));
  }
  body.append(element("h4", "Answers"));
  for (const [status, answer] of Object.entries(operation.responses)) {
    body.append(element("p", `${status} ${answer.description}`), ...contentOf(answer.content, spec));
  }
  const made = element("details", "", summary, body);
  made.dataset.text = `${method} ${path} ${operation.summary}`.toLowerCase();
  return made;
};

const show = (spec) => {
  document.getElementById("about").textContent = spec.info.description;
  const groups = new Map();
  for (const [path, methods] of Object.entries(spec.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags[0];
      if (!groups.has(tag)) groups.set(tag, element("section", "", element("h2", tag)));
      groups.get(tag).append(operationOf(path, method, operation, spec));
    }
  }
  const main = document.getElementById("operations");
  const errors = element("section", "", element("h2", "errors"));
  for (const [code, meaning] of Object.entries(spec["x-error-codes"])) {
    const line = element("p", "", element("code", code), ` ${meaning}`);
    line.id = `error-${code}`;
    errors.append(line);
  }
  main.replaceChildren(...groups.values(), errors);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  document.getElementById("filter").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const section of groups.values()) {
      const items = [...section.querySelectorAll("details[data-text]")];
      for (const item of items) item.hidden = !item.dataset.text.includes(wanted);
      section.hidden = items.every((item) => item.hidden);
    }
  });
};

fetch("/api/openapi.json")
  .then((answer) => answer.json())
  .then(show)
  .catch(() => {
    document.getElementById("operations").textContent = "The document could not be loaded.";
  });
