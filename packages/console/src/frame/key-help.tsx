import { Kbd, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { modKeyName } from '../ui/keys.ts';
import type { PagePath } from '../ui/use-search.ts';
import classes from './key-help.module.css';
import { pages } from './pages.ts';

/** The overlay that lists all keys, those of this page first. */
export function KeyHelp({ opened, onClose }: { opened: boolean; onClose: () => void }): ReactNode {
  const [, path] = /^#([^?]*)/.exec(window.location.hash) ?? [];
  const isHere = ({ of = [] }: KeyGroup) => of.some((page) => page === path);
  const groups = keyGroups.toSorted((a, b) => Number(isHere(b)) - Number(isHere(a)));
  return (
    <Modal opened={opened} onClose={onClose} size={760} lockScroll title="Keys">
      <div className={classes.groups}>
        {groups.map(({ name, lines }) => (
          <section key={name} className={classes.group}>
            <h3>{name}</h3>
            <dl>
              {lines.map((line) => (
                <div key={line.text}>
                  <dt>{line.text}</dt>
                  <Keys line={line} />
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}

function Keys({ line: { keys, joint } }: { line: KeyLine }): ReactNode {
  return (
    <dd>
      {keys.map((key, index) => (
        <span key={key}>
          {index > 0 && joint !== undefined && (
            <span className={`muted small ${classes.joint}`}>{joint}</span>
          )}
          <Kbd size="xs" data-key-name={key}>
            {key === 'mod' ? modKeyName() : <span>{key}</span>}
          </Kbd>
        </span>
      ))}
    </dd>
  );
}

/** One line of the overlay: keys, and what they do. */
type KeyLine = {
  /** `mod` is Ctrl or ⌘. */
  readonly keys: readonly string[];
  /** How the keys belong together: pressed at once (`+`) or in turn (`then`). Without it, each does its own thing. */
  readonly joint?: '+' | 'then';
  readonly text: string;
};

/** Keys that are listed under one heading. */
type KeyGroup = {
  readonly name: string;
  /** The pages that have them; without it they are for all. */
  readonly of?: readonly PagePath[];
  readonly lines: readonly KeyLine[];
};

/** All keys of the console. A test presses each line: e2e/slow/console/keys.test.ts. */
const keyGroups: readonly KeyGroup[] = [
  {
    name: 'Anywhere',
    lines: [
      { keys: ['mod', 'K'], joint: '+', text: 'Find anything: a tenant, an id, an action' },
      { keys: ['/'], text: 'Search on this page' },
      ...pages.map(({ key, name }) => ({
        keys: ['g', key],
        joint: 'then' as const,
        text: `Go to ${name}`,
      })),
      { keys: ['?'], text: 'These keys' },
      { keys: ['Esc'], text: 'Close what is on top' },
    ],
  },
  {
    name: 'In the search of RECORDS',
    of: ['/records'],
    lines: [
      { keys: ['↓'], text: 'To the tree' },
      { keys: ['Esc'], text: 'Empty the search' },
    ],
  },
  {
    name: 'On the bars of days or months',
    of: ['/records', '/retention'],
    lines: [
      { keys: ['←', '→'], text: 'Previous, next day or month' },
      { keys: ['Home', 'End'], text: 'First, last day or month' },
      { keys: ['Enter'], text: 'That day only; open that month' },
      { keys: ['Shift', '→'], joint: '+', text: 'One day more' },
      { keys: ['Shift', '←'], joint: '+', text: 'One day less' },
      { keys: ['Shift', 'Enter'], joint: '+', text: 'All days up to that day' },
    ],
  },
  {
    name: 'In the tree of RECORDS',
    of: ['/records'],
    lines: [
      { keys: ['↑', '↓'], text: 'Previous, next line' },
      { keys: ['PgUp', 'PgDn'], text: 'A screen up, down' },
      { keys: ['Home', 'End'], text: 'First, last line' },
      { keys: ['→'], text: 'Open a node, then go inside' },
      { keys: ['←'], text: 'Close a node, then go out of it' },
      { keys: ['*'], text: 'Open this node and those after it' },
      { keys: ['Enter'], text: 'Show its records' },
      { keys: ['a … z'], text: 'Jump to a name' },
    ],
  },
  {
    name: 'On the chosen node of RECORDS',
    of: ['/records'],
    lines: [{ keys: ['t'], text: 'Tag its days' }],
  },
  {
    name: 'In the calendar of days',
    lines: [
      { keys: ['←', '→'], text: 'Previous, next day' },
      { keys: ['↑', '↓'], text: 'The same weekday a week before, after' },
      { keys: ['PgUp', 'PgDn'], text: 'The same day a month before, after' },
      { keys: ['Home', 'End'], text: 'First, last day of the month' },
      { keys: ['Enter'], text: 'That day only' },
      { keys: ['Shift', 'Enter'], joint: '+', text: 'All days up to it' },
    ],
  },
  {
    name: 'On the edge of the tree',
    of: ['/records'],
    lines: [{ keys: ['←', '→'], text: 'Narrower, wider tree' }],
  },
  { name: 'On the edge of a panel', lines: [{ keys: ['←', '→'], text: 'Wider, narrower panel' }] },
  {
    name: 'In the head of a list',
    lines: [
      { keys: ['←', '→'], text: 'Previous, next column' },
      { keys: ['Shift', '→'], joint: '+', text: 'Wider; with the other arrow narrower' },
      { keys: ['Alt', '→'], joint: '+', text: 'One place on; with the other arrow back' },
    ],
  },
  {
    name: 'In a list',
    of: pages.map(({ path }) => path).filter((path) => path !== '/'),
    lines: [
      { keys: ['k', 'j'], text: 'Previous, next row' },
      { keys: ['↑', '↓'], text: 'The same, from a row' },
      { keys: ['Enter'], text: 'Open the row' },
    ],
  },
  {
    name: 'In the lists of webhooks',
    of: ['/dlq', '/deliveries'],
    lines: [
      { keys: ['r'], text: 'Retry the row' },
      { keys: ['x', 'Space'], text: 'Select the row' },
      { keys: ['Shift', 'X'], joint: '+', text: 'All rows up to it' },
    ],
  },
];
