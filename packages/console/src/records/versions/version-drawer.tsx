import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import type { DatasetVersion, ExportJob, Page } from '../../api/types.ts';
import { splitNames, workStates } from '../../api/values.ts';
import { useAct } from '../../ui/act.ts';
import { AskButton } from '../../ui/confirm-dialog.tsx';
import { Copied, CopyButton } from '../../ui/copy-button.tsx';
import { Drawer } from '../../ui/drawer.tsx';
import { Facts } from '../../ui/facts.tsx';
import { formatBytes, formatCount } from '../../ui/format.ts';
import { whereFree } from '../../ui/keys.ts';
import { Instant } from '../../ui/marks.tsx';
import { SmallTable } from '../../ui/numbers.tsx';
import { exportHref } from '../../ui/panel-place.ts';
import { exportsKey } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { notify } from '../../ui/toasts.tsx';
import { countOf, shellLine } from '../../ui/words.ts';
import { windowText } from '../search.ts';
import { DatasetMark } from '../tags/tags-view.tsx';
import { CompareVersions } from './compare-versions.tsx';
import { useVersion, versionPath, versionsKey } from './use-versions.ts';
import classes from './versions.module.css';
import { ExportButton, sharesText, VersionState } from './versions-view.tsx';

type VersionDrawerProps = {
  id: string;
  mayDelete: boolean;
  onExport: () => void;
  onClose: () => void;
};

/** The drawer of one dataset version: what is in it, how it is proved, how to export it. */
export function VersionDrawer(props: VersionDrawerProps): ReactNode {
  const { id, mayDelete, onClose } = props;
  const mayExport = useSession().hasScope('analytics:read');
  const query = useVersion(id);
  return (
    <Drawer
      kind="VERSION"
      title={query.data?.name ?? ''}
      id={id}
      query={query}
      onClose={onClose}
      noun="version"
      rows={10}
      actions={(version) => (
        <div className="drawer-actions">
          {mayExport ? (
            <>
              <ExportButton version={version} onExport={props.onExport} />
              <BundleButton version={version} />
            </>
          ) : (
            <span className="muted small">EXPORT needs analytics:read</span>
          )}
          <span className="grow" />
          {mayDelete ? (
            <DeleteButton version={version} onDeleted={onClose} />
          ) : (
            <span className="muted small">DELETE needs datasets:write</span>
          )}
        </div>
      )}
    >
      {(version) => (
        <>
          <VersionFacts version={version} />
          <Export version={version} />
          <Splits version={version} />
          <Slices version={version} />
          <CompareVersions key={version.id} version={version} />
        </>
      )}
    </Drawer>
  );
}

function VersionFacts({ version }: { version: DatasetVersion }): ReactNode {
  const { current } = version;
  return (
    <Facts
      facts={{
        tenant: version.tenant,
        dataset: <DatasetMark dataset={version.dataset} />,
        state: <VersionState version={version} />,
        error: version.error ?? undefined,
        where: version.where === null ? undefined : <code>{version.where}</code>,
        records: version.count === null ? 'not counted yet' : formatCount(version.count),
        bytes:
          version.bytes === null
            ? undefined
            : `${formatCount(version.bytes)} (${formatBytes(version.bytes)})`,
        digest:
          version.digest === null ? undefined : (
            <>
              <code>{version.digest}</code>
              <CopyButton value={version.digest} label="Copy digest" />
            </>
          ),
        ...(version.change !== null && {
          [`${version.change} since`]: <Instant at={version.changed_at} />,
        }),
        'left of it':
          current !== null && current.digest !== version.digest ? (
            <>
              {formatCount(current.count)} records · digest <code>{current.digest}</code>
            </>
          ) : undefined,
        'recorded before': <Instant at={version.recorded_before} />,
        frozen: (
          <>
            <Instant at={version.created_at} /> by {version.created_by}
          </>
        ),
        'kept together': version.group_by === null ? undefined : <code>{version.group_by}</code>,
        note: version.note ?? '–',
      }}
    />
  );
}

/** The command lines that export the version, and make a folder of it for those who train. */
function Export({ version }: { version: DatasetVersion }): ReactNode {
  const line = shellLine([
    ...['svcctl', 'analytics', 'export', '--tenant', version.tenant],
    ...['--version', version.name, '--format', 'parquet', '--async'],
  ]);
  const bundle = shellLine([
    ...['svcctl', 'records', 'versions', 'bundle', version.name],
    ...['--tenant', version.tenant, '--dir', `${version.tenant}-${version.name}`],
  ]);
  return (
    <>
      <h3 className="caps below-8">EXPORT IT ON THE COMMAND LINE</h3>
      <Copied text={line} />
      <h3 className="caps above-12 below-8">BUNDLE IT FOR TRAINING</h3>
      <Copied text={bundle} />
    </>
  );
}

/** The splits of a version, each with its count and digest. */
function Splits({ version }: { version: DatasetVersion }): ReactNode {
  const { splits, shares, warnings } = version;
  if (shares === null) return null;
  return (
    <>
      <SmallTable
        className={classes.small}
        caption={`SPLIT ${sharesText(version)}`}
        head={['PART', 'SHARE', 'RECORDS', 'DIGEST']}
        rightAt={[1, 2]}
        rows={splitNames.map((name) => ({
          key: name,
          cells: [
            name,
            `${shares[name]} %`,
            splits === null ? '…' : formatCount(splits[name].count),
            splits === null ? '…' : <code key="digest">{splits[name].digest}</code>,
          ],
        }))}
      />
      {warnings.map((warning) => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
    </>
  );
}

/** The tags from which the version was frozen, as they were then. */
function Slices({ version }: { version: DatasetVersion }): ReactNode {
  return (
    <SmallTable
      className={classes.small}
      caption="TAGS AS THEY WERE"
      head={['STORE', 'DAYS', 'NOTE']}
      rows={version.slices.map(({ tag_id, store, from, to, note }) => ({
        key: tag_id,
        cells: [store ?? 'all stores', windowText(from, to), note ?? '–'],
      }))}
    />
  );
}

/**
 * Starts the job that bundles the version for those who train, or leads to the one that is there, as
 * `svcctl records versions bundle` does.
 */
function BundleButton({ version }: { version: DatasetVersion }): ReactNode {
  const { tenant, id, name, state } = version;
  const start = useAct({
    async call() {
      const { data } = await api.get<Page<ExportJob>>('/exports', { tenant, limit: 100 });
      const there = data.find(
        (job) =>
          job.format === 'bundle' &&
          job.version === id &&
          (job.has_file || workStates.some((open) => open === job.state)),
      );
      return there ?? api.post<ExportJob>('/exports/bundle', { tenant, version: id });
    },
    onDone: (job) => {
      const text = `${job.has_file ? 'Bundled already' : 'Export queued'}: ${job.file_name}`;
      notify({ text, href: exportHref(job.id), linkText: 'follow it' });
    },
    failed: `Not bundled: ${name}`,
    changes: exportsKey,
  });
  return (
    <Button
      aria-label={`BUNDLE ${name}`}
      title="A tar for those who train: typed Parquet of each split, a dataset card, statistics and checksums"
      loading={start.isPending}
      {...whereFree(state !== 'failed', () => start.mutate())}
    >
      BUNDLE
    </Button>
  );
}

/** Deletes a version, which ends the protection of its records from retention. It asks first. */
function DeleteButton(props: { version: DatasetVersion; onDeleted: () => void }): ReactNode {
  const { version } = props;
  const of = version.count === null ? 'records' : countOf(version.count, 'record');
  const client = useQueryClient();
  const remove = useAct({
    call: () => api.delete(versionPath(version.id)),
    onDone: () => {
      notify({ text: `Deleted the version ${version.name}. Its records stay.` });
      props.onDeleted();
      client.removeQueries({ queryKey: [...versionsKey, 'one', version.id] });
    },
    failed: `Not deleted: ${version.name}`,
    changes: [...versionsKey, 'of'],
  });
  return (
    <AskButton
      text="DELETE…"
      isBusy={remove.isPending}
      title={`Delete the version ${version.name}?`}
      answer="DELETE"
      onYes={() => remove.mutate()}
    >
      {`It cannot be exported any more, and retention need not keep its ${of}. Records and tags stay.`}
    </AskButton>
  );
}
