import { Button } from '@mantine/core';
import type { ReactNode, RefObject } from 'react';
import classes from './list-page.module.css';
import { NowProvider } from './marks.tsx';
import { PollNote, type PollNoteProps } from './poll.tsx';

/** A page of lists, whose times share one clock. */
export function ListPage({ children }: { children: ReactNode }): ReactNode {
  return (
    <NowProvider>
      <div className={`stack relative clip ${classes.page}`}>{children}</div>
    </NowProvider>
  );
}

/** A few views side by side, of which one is shown. */
export function ViewSwitch<View extends string>(props: {
  label: string;
  views: readonly View[];
  view: View;
  onView: (view: View) => void;
  /** Whether the names are written in capitals. */
  isCaps?: boolean;
  /** What was chosen last, where each view draws the switch anew: its button then takes the focus again. */
  chosen?: RefObject<View | null>;
}): ReactNode {
  const { chosen } = props;
  const show = (button: HTMLButtonElement | null) => {
    // Of many views on a phone the chosen one is brought to where it is seen.
    button?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    if (button === null || chosen?.current !== props.view) return;
    chosen.current = null;
    button.focus();
  };
  return (
    <fieldset className={`flex ${classes.switch}`} aria-label={props.label}>
      {props.views.map((view) => (
        <button
          key={view}
          type="button"
          aria-pressed={view === props.view}
          ref={view === props.view ? show : undefined}
          onClick={() => {
            if (chosen !== undefined) chosen.current = view;
            props.onView(view);
          }}
        >
          {props.isCaps ? view.toUpperCase() : view}
        </button>
      ))}
    </fieldset>
  );
}

/** The button that makes one more of what is listed. On a phone it is a plus. */
export function NewButton({ what, onClick }: { what: string; onClick: () => void }): ReactNode {
  return (
    <Button
      className={classes.newButton}
      variant="filled"
      aria-label={`New ${what}`}
      onClick={onClick}
    >
      <span>New {what}</span>
    </Button>
  );
}

/** The bar above a list: at its left what is shown of it, at its right how old it is, and what can be done. */
export function ListBar({
  left,
  before,
  children,
  ...note
}: PollNoteProps & {
  left: ReactNode;
  /** What stands before the age of the list. */
  before?: ReactNode;
  children?: ReactNode;
}): ReactNode {
  return (
    <div className={classes.bar}>
      {left}
      <div className={`row wrap gap-8 shrink ${classes.actions}`}>
        {before}
        {note.queries.length > 0 && <PollNote {...note} />}
        {children}
      </div>
    </div>
  );
}
