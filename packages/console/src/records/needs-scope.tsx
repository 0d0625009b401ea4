import { Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Scope } from '../api/types.ts';
import classes from './page.module.css';

const presets: Partial<Record<Scope, string>> = {
  'analytics:read': 'support-readonly',
  'datasets:write': 'curator',
};

/** Attributes of a button that its token may not use: still reached by key, to learn why. */
export type Refused = { 'aria-disabled': boolean; 'data-disabled'?: true };

/** A button that says which scope it needs when the token lacks it. */
export function NeedsScope(props: {
  scope: Scope;
  has: boolean;
  children: (refused: Refused) => ReactNode;
}): ReactNode {
  const { scope, has } = props;
  const preset = presets[scope];
  const advice = preset === undefined ? '' : ` Ask an admin for the preset ${preset}.`;
  return (
    <>
      <Tooltip
        disabled={has}
        label={`Your token lacks the scope ${scope}.${advice}`}
        multiline
        w={280}
      >
        {props.children({ 'aria-disabled': !has, ...(has ? {} : { 'data-disabled': true }) })}
      </Tooltip>
      {!has && <span className={classes.lacks}>needs {scope}</span>}
    </>
  );
}
