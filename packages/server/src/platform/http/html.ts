/** Text that is HTML already. Only `html` makes it, so nothing can be sent without being escaped. */
export type Html = { readonly html: string };

export type HtmlValue = Html | string | number | readonly HtmlValue[] | null | undefined | false;

/**
 * Makes HTML from a template. Its values are escaped unless they are Html themselves; lists are joined, and null,
 * undefined and false become nothing.
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

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

function toHtml(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string') return escapeHtml(value);
  if (typeof value === 'number') return String(value);
  return 'html' in value ? value.html : value.map(toHtml).join('');
}
