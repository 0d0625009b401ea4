import type { ReactNode } from 'react';
import classes from './list-page.module.css';

/** A few views side by side, of which one is shown. */
export function ViewSwitch<View extends string>(props: {
  label: string;
  views: readonly View[];
  view: View;
  onView: (view: View) => void;
  /** Whether the names are written in capitals. */
  isCaps?: boolean;
}): ReactNode {
  return (
    <fieldset className={classes.switch} aria-label={props.label}>
      {props.views.map((view) => (
        <button
          key={view}
          type="button"
          aria-pressed={view === props.view}
          onClick={() => props.onView(view)}
        >
          {props.isCaps ? view.toUpperCase() : view}
        </button>
      ))}
    </fieldset>
  );
}
