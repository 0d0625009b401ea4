import { Kbd, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './key-help.module.css';
import { modKeyName } from './keys.ts';

export type KeyLine = { readonly keys: readonly string[]; readonly text: string };

const groups: readonly { name: string; lines: readonly KeyLine[] }[] = [
  {
    name: 'Anywhere',
    lines: [
      { keys: ['mod', 'K'], text: 'Go to a page, tenant, store or month' },
      { keys: ['/'], text: 'Search on this page' },
      { keys: ['g', 'r'], text: 'Go to RECORDS' },
      { keys: ['?'], text: 'These keys' },
      { keys: ['Esc'], text: 'Close what is on top' },
    ],
  },
  {
    name: 'In the tree of RECORDS',
    lines: [
      { keys: ['↑', '↓'], text: 'Previous, next line' },
      { keys: ['→', '←'], text: 'Open, close a node' },
      { keys: ['Home', 'End'], text: 'First, last line' },
      { keys: ['Enter'], text: 'Show its records' },
      { keys: ['a … z'], text: 'Jump to a name' },
    ],
  },
];

/** The sheet of all keys. */
export function KeyHelp({ opened, onClose }: { opened: boolean; onClose: () => void }): ReactNode {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Keys"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {groups.map(({ name, lines }) => (
        <section key={name} className={classes.group}>
          <h3>{name}</h3>
          <dl>
            {lines.map(({ keys, text }) => (
              <div key={text}>
                <dt>{text}</dt>
                <dd>
                  {keys.map((key) => (
                    <Kbd key={key} size="xs">
                      {key === 'mod' ? modKeyName() : key}
                    </Kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Modal>
  );
}
