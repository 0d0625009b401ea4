import type { ReactNode } from 'react';
import classes from '../ui/list-page.module.css';
import pageClasses from './page.module.css';
import { type RecordsView, recordsViews } from './search.ts';

/** What is shown of the chosen node. */
export function ViewSwitch(props: {
  view: RecordsView;
  onView: (view: RecordsView) => void;
}): ReactNode {
  return (
    <div className={pageClasses.views}>
      <fieldset className={classes.switch} aria-label="What is shown of the node">
        {recordsViews.map((view) => (
          <button
            key={view}
            type="button"
            aria-pressed={view === props.view}
            onClick={() => props.onView(view)}
          >
            {view.toUpperCase()}
          </button>
        ))}
      </fieldset>
    </div>
  );
}
