import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { DatasetVersion, Page } from '../../api/types.ts';
import { formatCount, formatInstant } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { AbandonedIcon, DeliveredIcon, FreezeIcon, PendingIcon } from '../../ui/icons.tsx';
import { SkeletonRows } from '../../ui/list.tsx';
import { countOf } from '../../ui/words.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { NeedsScope } from '../node-actions.tsx';
import tagClasses from '../tags/tags.module.css';
import { DatasetMark } from '../tags/tags-view.tsx';
import { FreezeDialog } from './freeze-dialog.tsx';
import classes from './versions.module.css';

type VersionsViewProps = {
  tenant: string;
  versions: UseQueryResult<Page<DatasetVersion>>;
  /** Id of the version that the drawer shows. */
  open: string | undefined;
  mayFreeze: boolean;
  onOpen: (id: string) => void;
};

/** The list of versions of the chosen tenant, latest first. */
export function VersionsView(props: VersionsViewProps): ReactNode {
  const { tenant, versions, mayFreeze } = props;
  const failure = useFailure(versions);
  const [isFreezing, setFreezing] = useState(false);
  const page = versions.data;
  return (
    <div className={tagClasses.view}>
      <div className={tagClasses.bar}>
        <p className={tagClasses.muted}>{page === undefined ? '' : headText(tenant, page)}</p>
        <NeedsScope scope="datasets:write" has={mayFreeze}>
          {(refused) => (
            <Button
              leftSection={<FreezeIcon />}
              {...refused}
              onClick={() => mayFreeze && setFreezing(true)}
            >
              FREEZE…
            </Button>
          )}
        </NeedsScope>
      </div>
      {page === undefined && failure === null && <SkeletonRows rows={4} label="Loading versions" />}
      {page === undefined && failure !== null && (
        <FailurePanel error={failure} onRetry={() => void versions.refetch()} />
      )}
      {page !== undefined && page.data.length > 0 && (
        <VersionsTable versions={page.data} open={props.open} onOpen={props.onOpen} />
      )}
      {isFreezing && (
        <FreezeDialog
          tenant={tenant}
          onFrozen={(version) => {
            setFreezing(false);
            props.onOpen(version.id);
          }}
          onClose={() => setFreezing(false)}
        />
      )}
    </div>
  );
}

function headText(tenant: string, { data, next_cursor }: Page<DatasetVersion>): string {
  if (data.length === 0) {
    return `No version of ${tenant} yet. FREEZE… keeps what is tagged now as a version that never changes.`;
  }
  const versions = countOf(data.length, 'version');
  return next_cursor === null
    ? `${versions} of ${tenant}, the latest first`
    : `The latest ${versions} of ${tenant}`;
}

/** The versions as a table; a click opens one in the drawer. */
function VersionsTable(props: {
  versions: readonly DatasetVersion[];
  open: string | undefined;
  onOpen: (id: string) => void;
}): ReactNode {
  const [zone] = useZone();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by key as well
    <section className={tagClasses.scroll} tabIndex={0} aria-label="Dataset versions">
      <table className={tagClasses.table}>
        <thead>
          <tr>
            <th scope="col">NAME</th>
            <th scope="col">DATASET</th>
            <th scope="col" className={tagClasses.number}>
              RECORDS
            </th>
            <th scope="col">SPLIT</th>
            <th scope="col">STATE</th>
            <th scope="col">FROZEN ({zoneName(zone)})</th>
            <th scope="col">BY</th>
          </tr>
        </thead>
        <tbody>
          {props.versions.map((version) => (
            <tr
              key={version.id}
              className={classes.row}
              aria-current={version.id === props.open ? 'true' : undefined}
              onClick={() => props.onOpen(version.id)}
            >
              <td>
                <button
                  type="button"
                  className={classes.name}
                  onClick={(event) => {
                    event.stopPropagation();
                    props.onOpen(version.id);
                  }}
                >
                  {version.name}
                </button>
              </td>
              <td>
                <DatasetMark dataset={version.dataset} />
              </td>
              <td className={tagClasses.number}>{recordsText(version)}</td>
              <td>{sharesText(version)}</td>
              <td>
                <VersionState version={version} />
              </td>
              <td>{formatInstant(version.created_at, zone).slice(0, 16)}</td>
              <td>{version.created_by}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const icons = { counting: PendingIcon, ready: DeliveredIcon, failed: AbandonedIcon } as const;

const stateWords: Readonly<Record<DatasetVersion['state'], string>> = {
  counting: 'its records are read and compared with the counters',
  ready: 'all records were read; they equal the counters',
  failed: 'the records read are not those that were counted',
};

/**
 * The state of a version as a word with a shape and a colour, and whether some of its records were erased or deleted.
 */
export function VersionState({ version }: { version: DatasetVersion }): ReactNode {
  const { state, change } = version;
  const Icon = icons[state];
  return (
    <span className={classes.states}>
      <span className={classes.state} data-state={state} title={stateWords[state]}>
        <Icon />
        {state}
      </span>
      {change !== null && (
        <span className={classes.change} title="Less is left of it than was frozen">
          {change}
        </span>
      )}
    </span>
  );
}

/** How many records are left, where that is fewer than were frozen. */
function leftOf(version: DatasetVersion): number {
  return version.current?.count ?? version.count;
}

/** The shares of the splits, such as `80/10/10`, or `–` when there are none. */
export function sharesText({ shares }: DatasetVersion): string {
  return shares === null ? '–' : `${shares.train}/${shares.validation}/${shares.test}`;
}

function recordsText(version: DatasetVersion): string {
  const left = leftOf(version);
  return left === version.count
    ? formatCount(version.count)
    : `${formatCount(left)} of ${formatCount(version.count)}`;
}
