import { Kbd, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './key-help.module.css';
import { type KeyLine, keyGroups } from './key-lines.ts';
import { modKeyName } from './keys.ts';

/** The sheet of all keys. */
export function KeyHelp({ opened, onClose }: { opened: boolean; onClose: () => void }): ReactNode {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size={760}
      title="Keys"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className={classes.groups}>
        {keyGroups.map(({ name, lines }) => (
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
          {index > 0 && joint !== undefined && <span className={classes.joint}>{joint}</span>}
          <Kbd size="xs">{key === 'mod' ? modKeyName() : key}</Kbd>
        </span>
      ))}
    </dd>
  );
}
