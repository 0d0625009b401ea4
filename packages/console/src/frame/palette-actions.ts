import { useMantineColorScheme } from '@mantine/core';
import { useLocation, useSearch } from '@tanstack/react-router';
import type { Scope } from '../api/values.ts';
import { chosenNode, type NodePath, namesOf, validateRecordsSearch } from '../records/search.ts';
import { retentionHref } from '../retention/search.ts';
import { stringifySearch } from '../ui/hash-state.ts';
import { panelHref, panelText } from '../ui/panel-place.ts';
import { useSession } from '../ui/session.ts';
import { pathText } from '../ui/words.ts';
import { useZone } from '../ui/zone-switch.tsx';
import { newEndpoint } from '../webhooks/search.ts';
import { pages } from './pages.ts';

/** What can be opened over the page from the palette. */
export type Overlays = { readonly onKeys: () => void; readonly onViews: () => void };

/** One line of the palette: a place, by its hash, or something to do. */
export type Entry = {
  readonly id: string;
  readonly group: 'FOUND' | 'RECENT' | 'VIEWS' | 'HERE' | 'PAGES' | 'ACTIONS';
  readonly name: string;
  readonly note: string;
  readonly href?: string | undefined;
  readonly run?: (() => void) | undefined;
  /** A text that takes the place of what was typed, so that the palette stays open. */
  readonly fill?: string | undefined;
};

/** What can be done with a node that is found by its path, such as `export TX/DFW`. */
type Verb = {
  readonly word: string;
  /** How the line of a node begins. */
  readonly name: string;
  readonly scope: Scope;
  readonly isOfTenant: boolean;
  /** Whether it is done in RECORDS, in the panel that is named like it. */
  readonly isOfRecords: boolean;
  readonly hrefOf: (node: NodePath) => string;
};

const panelAt = (kind: string) => (node: NodePath) => panelHref('/records', { kind, id: '' }, node);

const verbs: readonly Verb[] = [
  {
    word: 'export',
    name: 'Export',
    scope: 'analytics:read',
    isOfTenant: false,
    isOfRecords: true,
    hrefOf: panelAt('export'),
  },
  {
    word: 'tag',
    name: 'Tag days of',
    scope: 'datasets:write',
    isOfTenant: false,
    isOfRecords: true,
    hrefOf: panelAt('tag'),
  },
  {
    word: 'freeze',
    name: 'Freeze a dataset of',
    scope: 'datasets:write',
    isOfTenant: true,
    isOfRecords: true,
    hrefOf: ({ tenant }) => panelAt('freeze')({ tenant }),
  },
  {
    word: 'erase',
    name: 'Erase',
    scope: 'admin',
    isOfTenant: false,
    isOfRecords: true,
    hrefOf: panelAt('erase'),
  },
  {
    word: 'policy of',
    name: 'Policy of',
    scope: 'retention:manage',
    isOfTenant: true,
    isOfRecords: false,
    hrefOf: ({ tenant }) => retentionHref('tenant', tenant),
  },
  {
    word: 'retry all of',
    name: 'Retry all of',
    scope: 'admin',
    isOfTenant: true,
    isOfRecords: false,
    hrefOf: ({ tenant }) => panelHref('/dlq', { kind: 'retry', id: '' }, { tenant }),
  },
];

/** The verb that a text begins with, and the rest of the text; without a verb all of it is the rest. */
export function parseVerb(
  text: string,
  hasScope: (scope: Scope) => boolean,
): { verb: Verb | undefined; rest: string } {
  const typed = text.trimStart();
  const verb = verbs.find(
    ({ word, scope }) => typed.toLowerCase().startsWith(`${word} `) && hasScope(scope),
  );
  return { verb, rest: verb === undefined ? text : typed.slice(verb.word.length) };
}

/** The node that is chosen in RECORDS; null on other pages. */
export function useChosenNode(): NodePath | null {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const search: Record<string, unknown> = useSearch({ strict: false });
  return path === '/records' ? chosenNode(validateRecordsSearch(search)) : null;
}

/** What can be done at once: with what failed, with a node that is named next, and with the console itself. */
export function useActions(overlays: Overlays): readonly Entry[] {
  const { hasScope } = useSession();
  const ofNodes = verbs
    .filter(({ scope }) => hasScope(scope))
    .map(({ word, name, isOfTenant }) => {
      const note = `then a tenant${isOfTenant ? '' : ', store or month'}`;
      return { ...action(word, `${name}…`, note), fill: `${word} ` };
    });
  const opened = openings
    .filter(([, needs]) => hasScope(needs))
    .map(([name, , path, panel, search], at) => {
      const page = pages.find((each) => each.path === path)?.name ?? '';
      const href = `#${path}${stringifySearch({ ...search, panel })}`;
      return { ...action(`open-${at}`, name, page), href };
    });
  return [...opened, ...ofNodes, ...useOwnActions(overlays)];
}

/** What can be done with the chosen node. */
export function useNodeActions(): readonly Entry[] {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const node = useChosenNode();
  const { hasScope } = useSession();
  if (node === null) return [];
  const ofNode = verbs.filter(({ scope, isOfRecords }) => isOfRecords && hasScope(scope));
  return ofNode.map(({ word, name, isOfTenant }): Entry => {
    const of = isOfTenant ? node.tenant : pathText(namesOf(node));
    const panel = panelText({ kind: word, id: '' });
    // What else is chosen stays: the days, for instance.
    const href = `#/records${stringifySearch({ ...validateRecordsSearch(search), panel })}`;
    return { id: `here-${word}`, group: 'HERE', name: `${name} ${of}…`, note: '', href };
  });
}

function action(id: string, name: string, note: string): Entry {
  return { id: `action-${id}`, group: 'ACTIONS', name, note };
}

/** What is made or begun in a panel of a page, by the scope that it needs. */
const openings: readonly (readonly [
  name: string,
  needs: Scope,
  path: string,
  panel: string,
  search?: Readonly<Record<string, string>>,
])[] = [
  ['Retry all dead letters…', 'admin', '/dlq', 'retry'],
  ['Retry all abandoned…', 'admin', '/dlq', 'retry', { status: 'abandoned' }],
  ['New export…', 'analytics:read', '/exports', 'new-export'],
  ['New schedule…', 'admin', '/exports', 'new-schedule', { view: 'schedules' }],
  ['New endpoint…', 'endpoints:manage', '/endpoints', `endpoint/${newEndpoint}`],
  ['New type…', 'admin', '/endpoints', `type/${newEndpoint}`, { view: 'types' }],
  ['New token…', 'tokens:manage', '/access', 'new-token'],
  ['New link…', 'admin', '/access', 'new-link', { view: 'portal' }],
  ['Tell somebody…', 'admin', '/access', 'new-target', { view: 'notices' }],
  ['Run retention now…', 'retention:manage', '/retention', 'run'],
  ['Default policy…', 'retention:manage', '/retention', 'tenant/*'],
];

/** What concerns this person and browser only: zone, theme, keys, a link to this view, signing out. */
function useOwnActions({ onKeys, onViews }: Overlays): readonly Entry[] {
  const { signOut } = useSession();
  const [zone, setZone] = useZone();
  const { setColorScheme } = useMantineColorScheme();
  const other = zone === 'utc' ? 'local' : 'utc';
  const doing = (id: string, name: string, note: string, run: () => void): Entry => ({
    ...action(id, name, note),
    run,
  });
  return [
    doing('zone', `Show times in ${other === 'utc' ? 'UTC' : 'local time'}`, 'Time zone', () =>
      setZone(other),
    ),
    doing('light', 'Light theme', 'Theme', () => setColorScheme('light')),
    doing('dark', 'Dark theme', 'Theme', () => setColorScheme('dark')),
    doing('auto', 'Theme as the system', 'Theme', () => setColorScheme('auto')),
    doing('keys', 'Show all keys', '?', onKeys),
    doing('views', 'Save this view…', 'Saved views: open, rename, delete', onViews),
    doing('link', 'Copy link to this view', 'Link', () => {
      void navigator.clipboard.writeText(window.location.href);
    }),
    doing('out', 'Sign out', 'Session', () => void signOut()),
  ];
}

/** The pages, each with its keys. */
export const pageEntries: readonly Entry[] = pages.map(({ path, name, purpose, key }) => ({
  id: `page-${key}`,
  group: 'PAGES',
  name: `Go to ${name}`,
  note: purpose,
  href: `#${path}`,
}));
