import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { moveKinds, moveStates } from '../api/values.ts';
import { ChoiceFilter, Filters, TextFilter } from '../ui/filters.tsx';
import { noneOf } from '../ui/hash-state.ts';
import classes from '../ui/list-page.module.css';
import { ViewSwitch } from '../ui/list-page.tsx';
import type { UpdateSearch } from '../ui/use-search.ts';
import { shortId } from '../ui/words.ts';
import ownClasses from './retention.module.css';
import type { RetentionSearch } from './search.ts';
import { shownState } from './words.ts';

export type BarProps = {
  search: RetentionSearch;
  update: UpdateSearch<RetentionSearch>;
  onDefaultPolicy: () => void;
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
      <Filters
        label="What is shown"
        className={ownClasses.filters}
        values={isJournal ? [search.tenant, search.kind, search.state, search.run] : [search.q]}
      >
        {isJournal ? (
          <JournalFilters search={search} filter={filter} />
        ) : (
          <>
            <TextFilter
              label="Beginning of the tenant"
              placeholder="Find tenant"
              value={search.q}
              onChange={(q) => filter({ q }, { replace: true })}
              isSearch
            />
            <Button variant="subtle" onClick={props.onDefaultPolicy}>
              Default policy …
            </Button>
          </>
        )}
      </Filters>
      <div className={classes.actions}>{props.children}</div>
    </div>
  );
}

const kindChoices = moveKinds.map((kind) => ({ value: kind, label: kind }));
const stateChoices = moveStates.map((state) => ({ value: state, label: shownState(state) }));

/** The filters of the journal: tenant, kind, state, run. */
function JournalFilters(props: {
  search: RetentionSearch;
  filter: UpdateSearch<RetentionSearch>;
}): ReactNode {
  const { search, filter } = props;
  return (
    <>
      <TextFilter
        label="Tenant, exactly"
        placeholder="Tenant ="
        value={search.tenant}
        onChange={(tenant) => filter({ tenant })}
      />
      <ChoiceFilter
        label="Kind"
        any="Any kind"
        choices={kindChoices}
        value={search.kind}
        onChange={(kind) => filter({ kind })}
      />
      <ChoiceFilter
        label="State"
        any="Any state"
        choices={stateChoices}
        value={search.state}
        onChange={(state) => filter({ state })}
      />
      {search.run !== undefined && (
        <Button onClick={() => filter({ run: undefined })} title="Show the moves of all runs">
          run {shortId(search.run)} ×
        </Button>
      )}
      {hasFilter(search) && (
        <Button variant="subtle" onClick={() => filter(noFilter)}>
          Clear filters
        </Button>
      )}
    </>
  );
}

/** The change that removes all filters, and with them the cursor. */
export const noFilter = noneOf('q', 'tenant', 'kind', 'state', 'run');

/** Whether the list that is shown has a filter. */
export function hasFilter({ view, q, tenant, kind, state, run }: RetentionSearch): boolean {
  const filters = view === 'journal' ? [tenant, kind, state, run] : [q];
  return filters.some((filter) => filter !== undefined);
}
