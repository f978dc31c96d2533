// The page: documents go out, sentences come back one by one. Nothing is stored but in this browser.
"use strict";

const $ = (id) => document.getElementById(id);
const STORE = "fenster.earlier";
const state = { rows: [], settings: null, request: null };

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function counted(number) { return `${number} ${number === 1 ? "sentence" : "sentences"}`; }

function say(text) { $("status").textContent = text; }

function headers() {
  const key = $("key").value.trim();
  return key ? { Authorization: `Bearer ${key}` } : {};
}

async function problem(answer) {
  try { return (await answer.json()).error; } catch { return `the server answered ${answer.status}`; }
}

// Lines of the glossary: term = translation, or term = translation | another form.
function glossary() {
  const terms = {};
  for (const line of $("glossary").value.split("\n").filter((one) => one.trim())) {
    const [term, forms, more] = line.split(/=|\t|→/).map((one) => one.trim());
    if (!term || !forms || more !== undefined) throw new Error(`glossary line “${line.trim()}” must have the form: term = translation`);
    terms[term] = forms.split("|").map((one) => one.trim()).filter(Boolean);
  }
  return terms;
}

// Server-sent events of a POST, which EventSource cannot do.
async function* events(body, signal) {
  const answer = await fetch("v1/documents", {
    method: "POST", signal, body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", ...headers() },
  });
  if (!answer.ok) throw new Error(await problem(answer));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    let end;
    while ((end = buffer.indexOf("\n\n")) >= 0) {
      const block = buffer.slice(0, end).split("\n");
      buffer = buffer.slice(end + 2);
      const event = block.find((line) => line.startsWith("event: "))?.slice(7);
      const data = block.find((line) => line.startsWith("data: "))?.slice(6);
      if (event && data) yield { event, data: JSON.parse(data) };
    }
  }
}

// Translate, from a row on: what stands before it is given as context.
async function run(body, first) {
  state.request?.abort();
  const request = (state.request = new AbortController());
  $("cancel").hidden = false;
  $("result").hidden = false;
  let index = first;
  let whole = false;
  $("rows").classList.add("busy");
  say("Translating …");
  try {
    const wanted = { alternatives: 4, register: $("register").value, glossary: glossary(), ...body };
    for await (const { event, data } of events(wanted, request.signal)) {
      if (event === "error") throw new Error(data.error);
      if (event === "done") { whole = true; break; }
      setRow(index++, data);
      say(`${index} sentence${index === 1 ? "" : "s"}`);
    }
    if (!whole) throw new Error("the connection ended too early");
    while (state.rows.length > index) state.rows.pop().node.remove();
    say(`Done: ${index} sentence${index === 1 ? "" : "s"}.`);
    remember();
  } catch (error) {
    if (request !== state.request) return;
    say(error.name === "AbortError" ? `Cancelled after ${counted(index)}.` : `Failed: ${error.message}`);
  } finally {
    if (request === state.request) {
      $("cancel").hidden = true;
      $("rows").classList.remove("busy");
      for (const row of state.rows) row.node.classList.remove("stale");
      summarise();
    }
  }
}

function setRow(index, data) {
  const old = state.rows[index];
  const row = { ...data, edited: false, node: make("li", { tabindex: "-1" }) };
  state.rows[index] = row;
  draw(row, index);
  if (old) old.node.replaceWith(row.node);
  else $("rows").append(row.node);
  summarise();
}

function draw(row, index) {
  const target = make("div", { class: "target", lang: state.settings.target });
  let at = 0;
  const spans = row.edited ? [] : row.address;
  const kind = (from, to) => spans.find(([start, end]) => start < to && from < end)?.[2];
  for (const match of row.target.matchAll(/\S+/g)) {
    target.append(row.target.slice(at, match.index));
    const form = kind(match.index, match.index + match[0].length);
    target.append(make("span", {
      class: `word ${form ?? ""}`, tabindex: "0", role: "button",
      ...(form ? { title: form === "formal" ? "formal address" : "informal address" } : {}),
      onclick: () => look(index, match.index, match[0]),
      onkeydown: (event) => { if (event.key === "Enter") look(index, match.index, match[0]); },
    }, match[0]));
    at = match.index + match[0].length;
  }
  target.append(row.target.slice(at));
  const tools = make("div", { class: "tools" },
    make("button", { type: "button", class: "edit", onclick: () => edit(index) }, "Edit"));
  if (row.alternatives?.length) {
    tools.append(make("button", { type: "button", class: "other", onclick: () => others(index) }, "Other ways"));
  }
  row.node.className = row.edited ? "edited" : "";
  row.node.replaceChildren(make("div", { class: "source", lang: state.settings.source }, row.source), target,
    ...row.warnings.map((name) => make("div", { class: "warning" }, `⚠ ${explained(row, name)}`)), tools);
}

function explained(row, name) {
  const missed = name === "glossary" && row.missed_terms ? `: ${row.missed_terms.join(", ")}` : "";
  return (state.settings.problems[name] ?? name) + missed;
}

function edit(index) {
  const row = state.rows[index];
  const box = make("textarea", { rows: "2", "aria-label": "Your translation" });
  box.value = row.target;
  const done = () => { if (box.value.trim() && box.value !== row.target) correct(index, box.value.trim()); else draw(row, index); };
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); done(); }
    if (event.key === "Escape") draw(row, index);
  });
  row.node.querySelector(".target").replaceChildren(box);
  row.node.querySelector(".tools").replaceChildren(
    make("button", { type: "button", class: "keep", onclick: done }, "Save and retranslate the rest"));
  box.focus();
}

function others(index) {
  const row = state.rows[index];
  const open = row.node.querySelector(".others");
  if (open) { open.remove(); return; }
  row.node.append(make("ul", { class: "others" }, ...row.alternatives.map((one) =>
    make("li", {}, make("button", { type: "button", onclick: () => correct(index, one.target) }, one.target)))));
}

// A sentence was corrected: everything after it is translated again in the light of that.
function correct(index, text) {
  const row = state.rows[index];
  Object.assign(row, { target: text, edited: true, warnings: [], alternatives: [] });
  draw(row, index);
  const after = state.rows.slice(index + 1);
  if (!after.length) { remember(); summarise(); return; }
  for (const one of after) one.node.classList.add("stale");
  const history = state.rows.slice(0, index + 1).map((one) => [one.source, one.target]);
  run({ segments: after.map((one) => one.source), history }, index + 1);
}

async function look(index, at, word) {
  const rows = state.rows.slice(Math.max(0, index - 8), index + 1);
  const before = state.rows[index].target.slice(0, at);
  const answer = await fetch("v1/attention", {
    method: "POST", headers: { "Content-Type": "application/json", ...headers() },
    body: JSON.stringify({
      sources: rows.map((row) => row.source), targets: rows.map((row) => row.target),
      word: before.split(/\s+/).filter(Boolean).length,
    }),
  });
  if (!answer.ok) { say(`That did not work: ${await problem(answer)}`); return; }
  const { words } = await answer.json();
  const most = Math.max(...words.map((one) => one.weight), 1e-9);
  $("looked").textContent = `“${word}” looked at the darker words; grey ones belong to earlier sentences within the window.`;
  $("heat").replaceChildren(...words.flatMap((one) => [make("span", {
    class: `${one.inside ? "" : "outside"} w${Math.min(4, Math.round(4 * one.weight / most))}`,
    title: `${Math.round(100 * one.weight)} %`,
  }, one.text), " "]));
  $("attention").hidden = false;
  $("attention").scrollIntoView({ block: "nearest" });
}

function summarise() {
  const count = (kind) => state.rows.reduce((sum, row) => sum + (row.edited ? 0 : row.address.filter((one) => one[2] === kind).length), 0);
  const warned = state.rows.filter((row) => row.warnings.length).length;
  const parts = [counted(state.rows.length)];
  if (count("formal") + count("informal")) parts.push(`forms of address: ${count("formal")} × Sie, ${count("informal")} × du`);
  if (warned) parts.push(`${warned} to check`);
  $("summary").textContent = parts.join(" · ");
}

function save(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const escaped = (text) => text.replace(/[&<>]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[one]);

async function sendFile(file) {
  state.request?.abort();
  const request = (state.request = new AbortController());
  $("cancel").hidden = false;
  say(`Sending ${file.name} …`);
  let job = null;
  try {
    const body = new FormData();
    body.append("file", file);
    body.append("register", $("register").value);
    body.append("glossary", JSON.stringify(glossary()));
    let answer = await fetch("v1/files", { method: "POST", body, signal: request.signal, headers: headers() });
    if (!answer.ok) throw new Error(await problem(answer));
    job = await answer.json();
    while (job.state === "waiting" || job.state === "running") {
      say(job.segments ? `${file.name}: ${job.done} of ${counted(job.segments)}` : `${file.name}: waiting`);
      await new Promise((resolve) => setTimeout(resolve, 500));
      answer = await fetch(`v1/files/${job.job}`, { signal: request.signal });
      if (!answer.ok) throw new Error(await problem(answer));
      job = await answer.json();
    }
    if (job.state === "failed") throw new Error(job.error);
    const result = `v1/files/${job.job}`;
    const review = ["html", "docx", "tmx", "xliff"].flatMap((format) =>
      [" ", make("a", { href: `${result}/bilingual?format=${format}`, download: "" }, `.${format}`)]);
    $("status").replaceChildren("Done. ", make("a", { href: `${result}/result`, download: "" }, `Download ${file.name}`),
      ". Both sides for review: ", ...review);
  } catch (error) {
    if (error.name === "AbortError" && job) fetch(`v1/files/${job.job}`, { method: "DELETE" });
    if (request === state.request) say(error.name === "AbortError" ? "Cancelled." : `Failed: ${error.message}`);
  } finally {
    if (request === state.request) $("cancel").hidden = true;
  }
}

function earlier() {
  try { return JSON.parse(localStorage.getItem(STORE)) ?? []; } catch { return []; }
}

function remember() {
  const rows = state.rows.map(({ source, target }) => ({ source, target }));
  const kept = earlier().filter((one) => one.rows[0]?.source !== rows[0]?.source);
  try { localStorage.setItem(STORE, JSON.stringify([{ rows }, ...kept].slice(0, 10))); } catch { /* full, or not allowed */ }
  showEarlier();
}

function showEarlier() {
  const all = earlier();
  $("earlier").hidden = !all.length;
  $("past").replaceChildren(...all.map((one) => make("li", {}, make("button", {
    type: "button", onclick: () => { $("text").value = one.rows.map((row) => row.source).join(" "); $("text").focus(); },
  }, (one.rows[0]?.source ?? "").slice(0, 80)))));
}

async function begin() {
  state.settings = await (await fetch("v1/settings")).json();
  $("pair").textContent = `${state.settings.names[0]} to ${state.settings.names[1]}`;
  $("keyed").hidden = !state.settings.key;
  $("file").accept = state.settings.formats.join(",");
  showEarlier();
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("text").value;
  if (!text.trim()) { say("There is nothing to translate."); return; }
  while (state.rows.length) state.rows.pop().node.remove();
  $("attention").hidden = true;
  run({ text }, 0);
});
$("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && event.ctrlKey) $("form").requestSubmit(); });
$("cancel").addEventListener("click", () => state.request?.abort());
$("register").addEventListener("change", () => { if (state.rows.length) $("form").requestSubmit(); });
$("file").addEventListener("change", () => { if ($("file").files[0]) sendFile($("file").files[0]); });
$("form").addEventListener("dragover", (event) => { event.preventDefault(); $("form").classList.add("over"); });
$("form").addEventListener("dragleave", () => $("form").classList.remove("over"));
$("form").addEventListener("drop", (event) => {
  event.preventDefault();
  $("form").classList.remove("over");
  if (event.dataTransfer.files[0]) sendFile(event.dataTransfer.files[0]);
});
$("save").addEventListener("click", () => save("translation.txt", "text/plain", state.rows.map((row) => row.target).join("\n") + "\n"));
$("both").addEventListener("click", () => save("translation.html", "text/html",
  `<!doctype html><meta charset="utf-8"><table border="1">${state.rows.map((row) =>
    `<tr><td>${escaped(row.source)}<td>${escaped(row.target)}`).join("")}</table>`));
$("forget").addEventListener("click", () => { localStorage.removeItem(STORE); showEarlier(); });
begin().catch(() => say("The server does not answer. Is it running?"));
