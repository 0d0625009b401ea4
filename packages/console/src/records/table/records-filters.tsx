import type { ReactNode } from 'react';
import type { DatasetRow, InputFault } from '../../api/types.ts';
import { datasetNames } from '../../api/values.ts';
import { ChoiceFilter, Filters, TextFilter } from '../../ui/filters.tsx';
import { filtersOf } from '../../ui/hash-state.ts';
import { datasetWords } from '../../ui/words.ts';
import { PageDays } from '../page-days.tsx';
import { type changeFilters, noFilters, type RecordsSearch, sliceOf } from '../search.ts';
import { withTimes } from '../times.ts';
import classes from './table.module.css';
import { WhereFilter } from './where-filter.tsx';

/** A change of the filters; undefined removes one. */
type FilterChange = Parameters<typeof changeFilters>[1];

const datasetChoices = datasetNames.map((value) => ({ value, label: datasetWords[value] }));

/** The bar with the filters of the table. */
export function RecordsFilters(props: {
  search: RecordsSearch;
  /** The counters of the node: null when it has no records, undefined while they load. */
  facts: DatasetRow | null | undefined;
  /** What is wrong with the filter `where`. */
  fault: InputFault | undefined;
  onChange: (change: FilterChange) => void;
}): ReactNode {
  const { search, onChange } = props;
  const { dataset } = search;
  const textFilter = (name: 'event' | 'kind' | 'source', title: string) => (
    <TextFilter
      className={classes.filter}
      label={`${title}, exactly`}
      placeholder={`${title} =`}
      value={search[name]}
      onChange={(text) => onChange({ [name]: text })}
    />
  );
  return (
    <Filters
      label="Filters of the records"
      className={classes.filters}
      values={filtersOf(search, noFilters)}
      onClear={() => onChange(noFilters)}
    >
      {textFilter('event', 'Event')}
      {textFilter('kind', 'Kind')}
      {textFilter('source', 'Source')}
      <span className={classes.datasetFilter}>
        <ChoiceFilter
          label="Dataset"
          any="any dataset"
          choices={datasetChoices}
          value={dataset}
          onChange={(name) => onChange({ dataset: name })}
        />
      </span>
      <PageDays
        search={search}
        facts={props.facts}
        onChange={onChange}
        onTimes={(times) =>
          onChange({
            from: times.from.slice(0, 10),
            to: times.to.slice(0, 10),
            where: withTimes(search.where, times),
          })
        }
      />
      <WhereFilter
        value={search.where}
        slice={sliceOf(search)}
        digest={props.facts?.digest}
        fault={props.fault}
        onChange={(text) => onChange({ where: text })}
      />
    </Filters>
  );
}
