import { stringifySearch, textOf } from './hash-state.ts';

// What a panel shows is in the hash, as `panel`: a kind, and which one of it, such as `delivery/dlv_…`.

/** What a panel shows. `id` is '' for a kind that needs none, such as the export of what is chosen. */
export type PanelPlace<Kind extends string = string> = { readonly kind: Kind; readonly id: string };

/** The place of a panel as the hash has it. `parsePanel` reads it. */
export function panelText({ kind, id }: PanelPlace): string {
  return id === '' ? kind : `${kind}/${id}`;
}

/** Reads what `panelText` wrote; undefined for a kind that is not among these. */
export function parsePanel<Kind extends string>(
  text: string | undefined,
  kinds: readonly Kind[],
): PanelPlace<Kind> | undefined {
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  const name = slash < 0 ? text : text.slice(0, slash);
  const kind = kinds.find((each) => each === name);
  return kind && { kind, id: slash < 0 ? '' : text.slice(slash + 1) };
}

/** The panel that a hash names. `older` are fields that earlier releases had its id in: their links still open. */
export function readPanel<Kind extends string>(
  search: Record<string, unknown>,
  kinds: readonly Kind[],
  older: Readonly<Record<string, Kind>> = {},
): string | undefined {
  const place = parsePanel(textOf(search.panel), kinds);
  if (place !== undefined) return panelText(place);
  for (const [field, kind] of Object.entries(older)) {
    const id = textOf(search[field]);
    if (id !== undefined) return panelText({ kind, id });
  }
  return undefined;
}

/** A link that opens a page with a panel. */
export function panelHref(
  path: string,
  place: PanelPlace,
  rest: Readonly<Record<string, string | undefined>> = {},
): string {
  return `#${path}${stringifySearch({ ...rest, panel: panelText(place) })}`;
}

/** A link to an export job. */
export function exportHref(id: string): string {
  return panelHref('/exports', { kind: 'export', id });
}

/** A link to the moves of a retention run in the journal. */
export function runHref(id: string): string {
  return `#/retention${stringifySearch({ view: 'journal', run: id })}`;
}

/** A link to a job of any kind in the list of all jobs. */
export function jobHref(id: string): string {
  return panelHref('/jobs', { kind: 'job', id });
}
