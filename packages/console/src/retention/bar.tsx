import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { moveFilters } from '../api/views.ts';
import { Filters, ListFilters, TextFilter } from '../ui/filters.tsx';
import classes from '../ui/list-page.module.css';
import { ViewSwitch } from '../ui/list-page.tsx';
import type { UpdateSearch } from '../ui/use-search.ts';
import { shortId } from '../ui/words.ts';
import ownClasses from './retention.module.css';
import type { RetentionSearch } from './search.ts';
import { shownState } from './words.ts';

type BarProps = {
  search: RetentionSearch;
  update: UpdateSearch<RetentionSearch>;
  onDefaultPolicy: () => void;
  onIceberg: () => void;
  children: ReactNode;
};

/** The bar above the lists: it chooses the list and filters it. */
export function Bar(props: BarProps): ReactNode {
  const { search } = props;
  const isJournal = search.view === 'journal';
  // The cursor goes with any change of the filters, because it belonged to the previous ones.
  const filter: UpdateSearch<RetentionSearch> = (change, options) =>
    props.update({ ...change, cursor: undefined }, options);
  return (
    <div className={classes.bar}>
      <ViewSwitch
        label="View"
        views={['tenants', 'journal']}
        view={isJournal ? 'journal' : 'tenants'}
        onView={(view) => filter({ view: view === 'journal' ? view : undefined })}
      />
      {isJournal ? (
        <ListFilters
          label="What is shown"
          className={ownClasses.filters}
          filters={moveFilters}
          search={search}
          update={props.update}
          words={{ removed: shownState('removed') }}
          own={{
            run: search.run !== undefined && (
              <Button onClick={() => filter({ run: undefined })} title="Show the moves of all runs">
                run {shortId(search.run)} ×
              </Button>
            ),
          }}
        />
      ) : (
        <Filters label="What is shown" className={ownClasses.filters} values={[search.q]}>
          <TextFilter
            label="Beginning of the tenant"
            placeholder="Find tenant"
            value={search.q}
            onChange={(q) => filter({ q }, { replace: true })}
            isSearch
          />
          <Button variant="subtle" onClick={props.onDefaultPolicy}>
            Default policy…
          </Button>
          <Button variant="subtle" onClick={props.onIceberg}>
            Iceberg table…
          </Button>
        </Filters>
      )}
      <div className={`row wrap gap-8 shrink ${classes.actions}`}>{props.children}</div>
    </div>
  );
}
