import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type { DatasetVersion, VersionDiff } from '../../api/types.ts';
import { addDiffs } from '../../api/views.ts';
import { formatCount, formatInstant } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { SmallTable } from '../../ui/numbers.tsx';
import { useZone } from '../../ui/zone-switch.tsx';
import { useVersions, versionPath } from './use-versions.ts';
import classes from './versions.module.css';

/** Chooses another version of the tenant, and tells what this one has more and less. */
export function CompareVersions({ version }: { version: DatasetVersion }): ReactNode {
  const [chosen, setChosen] = useState('');
  const others = (useVersions(version.tenant, true).data?.data ?? []).filter(
    ({ id }) => id !== version.id,
  );
  const other = others.find(({ id }) => id === chosen);
  if (others.length === 0) return null;
  return (
    <>
      <NativeSelect
        label="Compare with"
        description="What this version has more and less than another"
        value={chosen}
        onChange={(event) => setChosen(event.currentTarget.value)}
        data={[
          { value: '', label: '–' },
          ...others.map(({ id, name }) => ({ value: id, label: name })),
        ]}
      />
      {/* What was found of another one is not shown meanwhile. */}
      {other !== undefined && <Compared key={other.id} from={other} to={version} />}
    </>
  );
}

function Compared({ from, to }: { from: DatasetVersion; to: DatasetVersion }): ReactNode {
  const { query, read } = useDiff(from.id, to.id);
  const failure = useFailure(query);
  if (failure !== null && query.data === undefined) {
    return <FailurePanel error={failure} onRetry={() => void query.refetch()} />;
  }
  const diff = query.data;
  const count = (of: VersionDiff['moved'] | undefined) =>
    of === undefined || of === null ? '…' : formatCount(of.count);
  const left = to.state === 'ready' ? (to.current ?? to).count : null;
  const both = diff === undefined || left === null ? '…' : formatCount(left - diff.added.count);
  return (
    <>
      <SmallTable
        className={classes.small}
        caption={`AGAINST ${from.name}`}
        head={['', 'RECORDS']}
        rightAt={[1]}
        rows={[
          { key: 'added', cells: [`only in ${to.name}`, count(diff?.added)] },
          { key: 'gone', cells: [`only in ${from.name}`, count(diff?.gone)] },
          { key: 'both', cells: ['in both', both] },
          ...(diff?.moved === null
            ? []
            : [{ key: 'moved', cells: ['of these in another part', count(diff?.moved)] }]),
        ]}
      />
      {diff === undefined && <p className="muted">{read ?? 'It is read…'}</p>}
      {diff !== undefined && (
        <>
          <Records title={`ONLY IN ${to.name}`} of={diff.added} />
          <Records title={`ONLY IN ${from.name}`} of={diff.gone} />
          {diff.moved !== null && <Records title="IN ANOTHER PART" of={diff.moved} />}
        </>
      )}
    </>
  );
}

function Records({ title, of }: { title: string; of: VersionDiff['added'] }): ReactNode {
  const [zone] = useZone();
  const { count, records } = of;
  if (count === 0) return null;
  return (
    <SmallTable
      className={classes.small}
      caption={count > records.length ? `${title}, THE FIRST ${records.length}` : title}
      head={['STORE', 'OCCURRED', 'EVENT']}
      rows={records.map(({ store, occurred_at, event_id }) => ({
        key: `${store} ${occurred_at} ${event_id}`,
        cells: [store, formatInstant(occurred_at, zone), <code key="event">{event_id}</code>],
      }))}
    />
  );
}

const named = 20;

/** Reads all stretches of a comparison, one after another, and adds them up. */
function useDiff(id: string, to: string) {
  const [read, setRead] = useState<string | null>(null);
  const query = useQuery<VersionDiff>({
    queryKey: ['records', 'versions', 'diff', id, to],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const page = (cursor?: string) =>
        api.get<VersionDiff>(`${versionPath(id)}/diff`, { to, limit: named, cursor }, signal);
      let all = await page();
      while (all.next_cursor !== null) {
        setRead(`${all.stretches_done} of ${all.stretches_total} stretches are read…`);
        all = addDiffs(all, await page(all.next_cursor), named);
      }
      return all;
    },
  });
  return { query, read };
}
