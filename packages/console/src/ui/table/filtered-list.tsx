import type { ReactNode } from 'react';
import type { Filters } from '../../api/views.ts';
import { type FilterWords, ListFilters } from '../list-filters.tsx';
import { ListBar } from '../list-page.tsx';
import type { PollNoteProps } from '../poll.tsx';
import type { PageSearch } from '../use-search.ts';
import { PagedList, type PagedListProps, type PagedSearch } from './list.tsx';

type FilteredListProps<Row, Search extends PagedSearch, Kind extends string> = Omit<
  PagedListProps<Row, Search>,
  'list' | 'label' | 'search' | 'update' | 'words' | 'open' | 'onOpen'
> & {
  /** The state of the page, and the panel that a row opens. */
  page: PageSearch<Search, Kind>;
  opens: Kind;
  /** By what its columns are remembered, and its name, unless both are the word for several rows. */
  list?: string;
  label?: string;
  filters: Filters;
  /** The filter to which the key `/` moves the focus. */
  searched?: keyof Search;
  filterWords?: FilterWords;
  words?: Partial<PagedListProps<Row, Search>['words']>;
  /** What else the page shows in place of this list. */
  views?: ReactNode;
  /** Whose age the bar tells, unless that is the list alone, and how often they are read. */
  queries?: PollNoteProps['queries'];
  millis?: number | undefined;
  /** What stands beside the filters. */
  beside?: ReactNode;
  /** What can be done. */
  actions?: ReactNode;
};

/** A list with what stands above it: its filters, how old it is, and what can be done. */
export function FilteredList<Row, Search extends PagedSearch, Kind extends string>(
  props: FilteredListProps<Row, Search, Kind>,
): ReactNode {
  const { page, opens, searched, filterWords, words, views, ...others } = props;
  const { queries = [props.query], millis, beside, actions, ...list } = others;
  const [search, update, panel] = page;
  const { filters, one, many = `${one}s` } = list;
  return (
    <>
      <ListBar
        left={
          <>
            {views}
            <ListFilters
              label={`Filters of the ${many}`}
              filters={filters}
              search={search}
              update={update}
              {...(searched !== undefined && { searched })}
              words={filterWords}
            >
              {beside}
            </ListFilters>
          </>
        }
        queries={queries}
        {...(millis !== undefined && { millis })}
      >
        {actions}
      </ListBar>
      <PagedList
        list={many}
        label={`${many.charAt(0).toUpperCase()}${many.slice(1)}`}
        {...list}
        search={search}
        update={update}
        words={{ none: `No ${many} yet`, ...words }}
        open={panel.idOf(opens)}
        onOpen={(id) => panel.open(opens, id)}
      />
    </>
  );
}
