import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ExportJob, Manifest } from '../api/types.ts';
import { formatBytes, formatCount } from '../ui/format.ts';
import { Loaded } from '../ui/list.tsx';
import { ProofTable, SmallTable } from '../ui/numbers.tsx';
import classes from './drawer.module.css';
import { manifestHref, useManifest } from './use-exports.ts';
import { proofText } from './words.ts';

/** At most this many parts are listed, more than anyone reads; the downloaded manifest has all of them. */
const mostParts = 50;

/** The manifest of a completed export: what proves its file, and its parts. */
export function ManifestPart({ job }: { job: ExportJob }): ReactNode {
  const manifest = useManifest(job);
  if (job.state !== 'completed') return null;
  return (
    <Loaded query={manifest} name="the manifest" rows={6}>
      {(data) => (
        <>
          <h3 className="caps below-8">PROOF</h3>
          <Proof job={job} manifest={data} />
          {data.splits !== null && <Splits splits={data.splits} />}
          <div className="row between">
            <h3 className="caps below-8">MANIFEST</h3>
            <Button
              component="a"
              size="compact-xs"
              href={manifestHref(job.id)}
              download={`${job.file_name}.manifest.json`}
            >
              Download as JSON
            </Button>
          </div>
          <Parts parts={data.parts} />
        </>
      )}
    </Loaded>
  );
}

/** The comparison that proves the file: rows and digest of the slice beside those of the file. */
function Proof({ job, manifest }: { job: ExportJob; manifest: Manifest }): ReactNode {
  const slice = job.rows_total === null ? null : formatCount(job.rows_total);
  return (
    <>
      <p className="below-8">{proofText(manifest)}</p>
      <ProofTable
        sides={['SLICE, WHEN ASKED FOR', 'FILE, READ BACK']}
        rows={[
          { name: 'rows', values: [slice, formatCount(manifest.rows)] },
          { name: 'digest', values: [job.digest, manifest.digest] },
        ]}
        none="–"
      />
    </>
  );
}

function Splits({ splits }: { splits: NonNullable<Manifest['splits']> }): ReactNode {
  return (
    <SmallTable
      head={['SPLIT', 'ROWS', 'DIGEST']}
      rows={Object.entries(splits).map(([name, { rows, digest }]) => ({
        key: name,
        cells: [name, formatCount(rows), digest],
      }))}
    />
  );
}

/** The parts of the file, in their order. */
function Parts({ parts }: { parts: Manifest['parts'] }): ReactNode {
  return (
    <>
      <SmallTable
        className={`numbers ${classes.parts}`}
        label="Parts of the file"
        head={['PART', 'ROWS', 'SIZE', 'DIGEST', 'SHA-256']}
        rows={parts
          .slice(0, mostParts)
          .map(({ rows, bytes, digest, sha256 }, index) => ({
            key: String(index),
            cells: [
              index + 1,
              formatCount(rows),
              formatBytes(bytes),
              digest,
              <span key="sha256" title={sha256}>{`${sha256.slice(0, 8)}…`}</span>,
            ],
          }))}
      />
      {parts.length > mostParts && (
        <p className="muted">
          The first {mostParts} of {formatCount(parts.length)} parts; the download has them all.
        </p>
      )}
    </>
  );
}
