import { Checkbox, NativeSelect, SegmentedControl, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { DatasetVersion } from '../../api/types.ts';
import {
  compressions,
  datasetNames,
  type ExportFormat,
  exportColumns,
  exportFormats,
  splitNames,
} from '../../api/values.ts';
import { formatCount } from '../../ui/format.ts';
import { datasetWords } from '../../ui/words.ts';
import { type Choices, formatNames, isTyped, type Way } from './choice.ts';
import classes from './export.module.css';

/** What each choice of the panel gets. With `isFixed` nothing can be changed, because an export runs. */
export type ChoicesProps = {
  isFixed: boolean;
  choices: Choices;
  set: (change: Partial<Choices>) => void;
};

const formats = exportFormats.map((value) => ({ value, label: formatNames[value] }));

const compressionChoices = compressions.map((value) => ({
  value,
  label: value === 'none' ? 'no compression' : value,
}));

const formatNotes: Readonly<Record<ExportFormat, string>> = {
  csv: 'A table that everything reads.',
  ndjson: 'A record a line, to the letter as it was sent: ingest takes it again.',
  parquet: 'Columns with types for DuckDB, Spark or pandas.',
};

/** The choice of format and compression. */
export function FormatChoice({ isFixed, choices, set }: ChoicesProps): ReactNode {
  const { format, compression, typed, lines } = choices;
  return (
    <>
      <div className="row gap-16">
        <SegmentedControl
          aria-label="Format"
          value={format}
          disabled={isFixed}
          onChange={(value) => set({ format: named(formats, value) ?? 'csv' })}
          data={formats}
        />
        <NativeSelect
          aria-label="Compression"
          w={152}
          disabled={isFixed || format === 'parquet'}
          value={format === 'parquet' ? 'none' : compression}
          onChange={({ currentTarget: { value } }) =>
            set({ compression: named(compressionChoices, value) ?? 'none' })
          }
          data={
            format === 'parquet' ? [{ value: 'none', label: 'zstd inside' }] : compressionChoices
          }
        />
      </div>
      {format === 'parquet' && (
        <Checkbox
          label="Typed fields"
          checked={typed}
          disabled={isFixed}
          onChange={(event) => set({ typed: event.currentTarget.checked })}
        />
      )}
      {!(format === 'ndjson' && lines !== 'records') && (
        <p className="muted small">
          {isTyped(choices)
            ? 'Fields of the enrichment as columns of their types, as a sample tells them; the rest is in _rest. A job makes it.'
            : formatNotes[format]}
        </p>
      )}
    </>
  );
}

function named<T extends string>(list: readonly { value: T }[], text: string): T | undefined {
  return list.find(({ value }) => value === text)?.value;
}

const datasets = datasetNames.map((value) => ({ value, label: datasetWords[value] }));
const splits = splitNames.map((value) => ({ value, label: value }));

/** The choice of records: all, those with a certain tag, or those of a version. */
export function DatasetChoice(
  props: ChoicesProps & {
    versions: readonly DatasetVersion[];
    /** Whether the versions could not be read. */
    isLacking: boolean;
  },
): ReactNode {
  const { isFixed, choices, set, versions } = props;
  const version = versions.find(({ id }) => id === choices.versionId);
  return (
    <div className={`grid ${classes.selects}`}>
      <NativeSelect
        label="Dataset"
        disabled={isFixed || version !== undefined}
        value={version?.dataset ?? choices.dataset ?? ''}
        onChange={({ currentTarget: { value } }) => set({ dataset: named(datasets, value) })}
        data={[{ value: '', label: 'all records' }, ...datasets]}
      />
      {versions.length > 0 && (
        <>
          <NativeSelect
            label="Version"
            disabled={isFixed}
            value={version?.id ?? ''}
            onChange={({ currentTarget: { value } }) =>
              set({ versionId: value === '' ? undefined : value, split: undefined })
            }
            data={[
              { value: '', label: 'as it is now' },
              ...versions.map(({ id, name }) => ({ value: id, label: name })),
            ]}
          />
          <NativeSelect
            label="Split"
            disabled={isFixed || version === undefined || version.shares === null}
            value={choices.split ?? ''}
            onChange={({ currentTarget: { value } }) => set({ split: named(splits, value) })}
            data={[{ value: '', label: 'all' }, ...splits]}
          />
        </>
      )}
      {props.isLacking && (
        <p className="muted small">
          Dataset versions cannot be listed at the moment. They are tried again by themselves.
        </p>
      )}
      {version !== undefined && (
        <p className="muted small">
          All that {version.name} froze of {version.tenant}:{' '}
          {version.count === null ? 'the' : formatCount(version.count)} records of {version.dataset}
          , whatever node and days were chosen.
        </p>
      )}
    </div>
  );
}

/** The choice of columns: those by default, or others, with paths into the enrichment. */
export function ColumnChoice(
  props: ChoicesProps & { byDefault: readonly string[]; fault: string | null },
): ReactNode {
  const { isFixed, choices, set, byDefault, fault } = props;
  const chosen = choices.columns ?? byDefault;
  const toggle = (name: string, isIn: boolean) =>
    set({ columns: isIn ? [...chosen, name] : chosen.filter((other) => other !== name) });
  return (
    <>
      <fieldset className={`grid ${classes.columns}`}>
        <legend>
          Columns
          <button type="button" onClick={() => set({ columns: exportColumns })}>
            all
          </button>
          <button type="button" onClick={() => set({ columns: [] })}>
            none
          </button>
          <button type="button" onClick={() => set({ columns: undefined })}>
            usual
          </button>
        </legend>
        {exportColumns.map((name) => (
          <Checkbox
            key={name}
            label={name}
            checked={chosen.includes(name)}
            onChange={(event) => toggle(name, event.currentTarget.checked)}
          />
        ))}
      </fieldset>
      <TextInput
        label="Fields of the enrichment, as columns of their own"
        placeholder="origin.iata, score"
        value={choices.pathText}
        error={fault}
        disabled={isFixed}
        onChange={(event) => set({ pathText: event.currentTarget.value })}
      />
    </>
  );
}

/** The choice of CSV's profile; other formats have none. */
export function ProfileChoice({ isFixed, choices, set }: ChoicesProps): ReactNode {
  const { profile, header } = choices;
  return (
    <>
      <div className="row gap-16">
        <SegmentedControl
          aria-label="Profile"
          value={profile}
          disabled={isFixed}
          onChange={(value) => set({ profile: value === 'spreadsheet' ? value : 'machine' })}
          data={[
            { value: 'machine', label: 'Machine' },
            { value: 'spreadsheet', label: 'Spreadsheet' },
          ]}
        />
        <Checkbox
          label="Header line"
          checked={header}
          disabled={isFixed}
          onChange={(event) => set({ header: event.currentTarget.checked })}
        />
      </div>
      <p className="muted small">
        {profile === 'machine'
          ? 'Exact round trip: text quoted, numbers as sent, nothing at all for null.'
          : 'Safe to open in Excel: byte-order mark, CRLF, formulas disarmed by an apostrophe.'}
      </p>
    </>
  );
}

const wayNotes: Readonly<Record<Way, string>> = {
  now: 'You choose where the file goes, and the rows are written to it as long as this page is open; they are compared with the count.',
  job: 'The service makes the file: it goes on when you leave and after a restart, is proved by rows and digest, and downloads with resume.',
};

/** The choice between a download by this page and a job, with the reason for one of them when there are many rows. */
export function WayChoice(props: ChoicesProps & { way: Way; isManyRows: boolean }): ReactNode {
  const { isFixed, set, way, isManyRows } = props;
  return (
    <>
      <SegmentedControl
        fullWidth
        aria-label="How"
        value={way}
        disabled={isFixed}
        onChange={(value) => set({ way: value === 'job' ? value : 'now' })}
        data={[
          { value: 'now', label: 'DOWNLOAD NOW' },
          { value: 'job', label: 'AS A JOB' },
        ]}
      />
      <p className={`muted small ${classes.wayNote}`}>
        {wayNotes[way]}
        {isManyRows && <strong> Above 500,000 rows a job is recommended.</strong>}
      </p>
    </>
  );
}
