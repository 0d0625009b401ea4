import type { errorCatalogue } from '../../kernel/errors.ts';
import { basePath, presets, scopes, scopeTexts } from '../../kernel/values.ts';
import { authentication, conventions, type OpenApiDocument, statusMeanings } from './openapi.ts';
import {
  type Answer,
  type Body,
  describeOperations,
  type Field,
  type OperationText,
} from './reference-model.ts';

/** The page may load its stylesheet and nothing else. */
export const referencePagePolicy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export { referenceCss } from './reference-css.ts';

type ReferenceCodes = {
  readonly errors: typeof errorCatalogue;
  /** The codes of single faults of the input, with their meaning. */
  readonly faultCodes: Readonly<Record<string, string>>;
  /** The codes of rejected records, with their meaning. */
  readonly rejectCodes: Readonly<Record<string, string>>;
};

/**
 * Makes the reference for people, one page of HTML for `/docs`: how to call the service, each operation and each code.
 * Each error code is an anchor, because problem documents link to `/docs#code`. The page needs `/docs/style.css`.
 */
export function renderReferencePage(document: OpenApiDocument, codes: ReferenceCodes): string {
  const operations = describeOperations(document);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>svcctl API reference</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<p class="brand">svcctl <span>API reference</span></p>
<p class="meta">version ${document.info.version} · <a href="${basePath}/openapi.json">openapi.json</a></p>
</header>
<div class="columns">
<nav aria-label="Contents">${contents(operations)}</nav>
<main id="content" tabindex="-1">
<h1>API reference</h1>
${calling(operations)}
${authenticationSection(operations)}
<section aria-labelledby="conventions"><h2 id="conventions">Conventions</h2>
${conventions.map(({ title, text }) => html`<h3>${title}</h3><p>${inlineCode(text)}</p>`)}
</section>
${tagsOf(operations).map((tag) => tagSection(tag, operations))}
${errorSection(codes.errors)}
${codeSection('fault-codes', 'Fault codes', 'In `errors` of a 400: what is wrong at each `path`.', 'fault', codes.faultCodes)}
${codeSection('reject-codes', 'Reject codes', 'In `rejected` of an ingest: why a record was not stored.', 'reject', codes.rejectCodes)}
</main>
</div>
</body>
</html>
`;
  return page.html;
}

function tagsOf(operations: readonly OperationText[]): string[] {
  return [...new Set(operations.map((operation) => operation.tag))];
}

const tagId = (tag: string) => `tag-${tag.toLowerCase().replace(/\W+/g, '-')}`;

function contents(operations: readonly OperationText[]): Html {
  const link = (id: string, text: string) => html`<li><a href="#${id}">${text}</a></li>`;
  return html`
<p>Start</p>
<ul>${link('calling', 'How to call')}${link('authentication', 'Authentication')}${link('conventions', 'Conventions')}</ul>
${tagsOf(operations).map(
  (tag) => html`<p>${tag}</p>
<ul>${operations
    .filter((operation) => operation.tag === tag)
    .map(
      (each) => html`<li><a href="#op-${each.id}"><b>${each.method}</b> ${each.summary}</a></li>\n`,
    )}</ul>
`,
)}
<p>Codes</p>
<ul>${link('errors', 'Errors')}${link('fault-codes', 'Fault codes')}${link('reject-codes', 'Reject codes')}</ul>`;
}

function calling(operations: readonly OperationText[]): Html {
  const [first] = operations;
  return html`<section aria-labelledby="calling"><h2 id="calling">How to call</h2>
<p>Every path below is complete: put the origin of this page before it. The examples take it from
<code>SVC_URL</code> and the token from <code>SVC_TOKEN</code>, as the command line does.</p>
<pre>export SVC_URL=http://127.0.0.1:8080
export SVC_TOKEN=svc_…${first !== undefined && `\n${first.example}`}</pre>
</section>`;
}

function authenticationSection(operations: readonly OperationText[]): Html {
  const allowed = (scope: string) => operations.filter((operation) => operation.scope === scope);
  return html`<section aria-labelledby="authentication"><h2 id="authentication">Authentication</h2>
<p>${inlineCode(authentication)}</p>
<table><caption>Scopes</caption>
<thead><tr><th scope="col">Scope</th><th scope="col">Allows</th></tr></thead>
<tbody>${scopes.map(
    (scope) =>
      html`<tr><th scope="row"><code>${scope}</code></th><td>${scopeTexts[scope]}${
        scope !== 'admin' && html`: ${links(allowed(scope))}`
      }</td></tr>\n`,
  )}</tbody></table>
<table><caption>Presets: scopes under one name</caption>
<thead><tr><th scope="col">Preset</th><th scope="col">Scopes</th></tr></thead>
<tbody>${Object.entries(presets).map(
    ([name, bundle]) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${codes(bundle)}</td></tr>\n`,
  )}</tbody></table>
</section>`;
}

function links(operations: readonly OperationText[]): Html {
  if (operations.length === 0) return html`<span class="quiet">no call of this version yet</span>`;
  return html`${operations.map(
    (each, index) => html`${index > 0 && ', '}<a href="#op-${each.id}">${each.summary}</a>`,
  )}`;
}

function codes(names: readonly string[]): Html {
  return html`${names.map((name, index) => html`${index > 0 && ' '}<code>${name}</code>`)}`;
}

function tagSection(tag: string, operations: readonly OperationText[]): Html {
  return html`<section aria-labelledby="${tagId(tag)}"><h2 id="${tagId(tag)}">${tag}</h2>
${operations.filter((operation) => operation.tag === tag).map(operationSection)}
</section>`;
}

function operationSection(operation: OperationText): Html {
  const { id, method, path, scope, summary } = operation;
  return html`<article aria-labelledby="op-${id}">
<h3 id="op-${id}"><a href="#op-${id}">${summary}</a></h3>
<p class="call"><b>${method}</b> <code>${path}</code> <span class="scope">${scopeText(scope)}</span></p>
${operation.paragraphs.map((paragraph) => html`<p>${inlineCode(paragraph)}</p>`)}
${
  operation.parameters.length > 0 &&
  fieldTable('Parameters', operation.parameters, { placeOf: (field) => field.place })
}
${operation.bodies.map((body, index) => requestBody(body, index))}
${operation.answers.map((answer) => !answer.isProblem && success(answer))}
${errorList(operation.answers)}
<p class="label">Example</p>
<pre>${operation.example}</pre>
</article>
`;
}

function scopeText(scope: string | null): Html {
  if (scope === null) return html`no token needed`;
  return scope === 'any' ? html`any token` : html`scope <code>${scope}</code>`;
}

function requestBody(body: Body, index: number): Html {
  const table = fieldTable(`Body, ${body.mediaType}`, body.fields);
  if (index === 0) return table;
  return html`<details><summary>Or as <code>${body.mediaType}</code></summary>${table}</details>`;
}

function success(answer: Answer): Html {
  const { status, description, headers, body } = answer;
  return html`<p class="label">Answer</p>
<p><b>${status}</b> ${inlineCode(description)}${body && html` <code>${body.mediaType}</code>`}</p>
${
  headers.length > 0 &&
  html`<dl>${headers.map(
    (header) =>
      html`<dt><code>${header.name}</code></dt><dd>${inlineCode(header.description)}</dd>\n`,
  )}</dl>`
}
${body && body.fields.length > 0 && fieldTable('Fields of the answer', body.fields, { isCaptionHidden: true })}`;
}

/** Statuses of errors link to what they mean on every call; where this call means something else, it is said here. */
function errorList(answers: readonly Answer[]): Html {
  const problems = answers.filter((answer) => answer.isProblem);
  const own = problems.filter((answer) => answer.description !== meaningOf(answer));
  return html`<p class="label">Errors</p>
<p class="statuses">${problems.map(
    ({ status }) => html`<a href="#status-${status}">${status}</a> `,
  )}</p>
${own.map(({ status, description }) => html`<p><b>${status}</b> ${inlineCode(description)}</p>`)}`;
}

function meaningOf(answer: Answer): string | undefined {
  return statusMeanings[Number(answer.status)];
}

function fieldTable<F extends Field>(
  caption: string,
  fields: readonly F[],
  options: { placeOf?: (field: F) => string; isCaptionHidden?: boolean } = {},
): Html {
  const { placeOf, isCaptionHidden = false } = options;
  return html`<table class="fields"><caption${isCaptionHidden && html` class="hidden"`}>${caption}</caption>
<thead><tr><th scope="col" class="name">Name</th>${
    placeOf && html`<th scope="col" class="place">In</th>`
  }<th scope="col" class="type">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields.map(
    (field) =>
      html`<tr><th scope="row"><code>${field.name}</code>${
        !field.required && html` <span class="quiet">optional</span>`
      }</th>${placeOf && html`<td>${placeOf(field)}</td>`}<td>${field.type}</td><td>${inlineCode(field.description)}</td></tr>\n`,
  )}</tbody></table>`;
}

function errorSection(errors: ReferenceCodes['errors']): Html {
  const rows = Object.entries(errors);
  const row = ([code, { status, exit, retryable, title }]: (typeof rows)[number]) =>
    html`<tr id="${code}"><th scope="row"><a href="#${code}"><code>${code}</code></a></th><td class="number">${
      status === 0 ? '–' : status
    }</td><td class="number">${exit}</td><td>${retryable ? 'yes' : 'no'}</td><td>${title}</td></tr>\n`;
  return html`<section aria-labelledby="errors"><h2 id="errors">Errors</h2>
<p>${inlineCode('`code` of a problem document, and the exit code with which the command line ends. Without a status: only the command line raises it. Retry: the same call may succeed later.')}</p>
<table><caption class="hidden">Error codes</caption>
<thead><tr><th scope="col">Code</th><th scope="col" class="number">Status</th><th scope="col" class="number">Exit</th><th scope="col">Retry</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.map(row)}</tbody></table>
<table><caption>Statuses: what they mean on every call</caption>
<thead><tr><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries(statusMeanings).map(
    ([status, meaning]) =>
      html`<tr id="status-${status}"><th scope="row">${status}</th><td>${inlineCode(meaning)}</td></tr>\n`,
  )}</tbody></table>
</section>`;
}

function codeSection(
  id: string,
  title: string,
  about: string,
  prefix: string,
  meanings: Readonly<Record<string, string>>,
): Html {
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
<p>${inlineCode(about)}</p>
<table><caption class="hidden">${title}</caption>
<thead><tr><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries(meanings).map(
    ([code, meaning]) =>
      html`<tr id="${prefix}-${code}"><th scope="row"><code>${code}</code></th><td>${meaning}</td></tr>\n`,
  )}</tbody></table>
</section>`;
}

/** Text that is HTML already. Only `html` makes it, so nothing can be sent without being escaped. */
type Html = { readonly html: string };

type HtmlValue = Html | string | number | readonly HtmlValue[] | null | undefined | false;

/**
 * Makes HTML from a template: values are escaped unless they are Html, lists joined, null, undefined and false nothing.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? '';
  for (const [index, value] of values.entries()) text += toHtml(value) + (strings[index + 1] ?? '');
  return { html: text };
}

/** Makes HTML of text in which backticks mark `code`, as descriptions use them. */
export function inlineCode(text: string): Html {
  const parts = text.split(/`([^`]+)`/);
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

function toHtml(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string') return escapeHtml(value);
  if (typeof value === 'number') return String(value);
  return 'html' in value ? value.html : value.map(toHtml).join('');
}
