import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ExportJob, Manifest } from '../api/types.ts';
import { formatBytes, formatCount } from '../ui/format.ts';
import { Loaded } from '../ui/loaded.tsx';
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
      <table className="numbers">
        <thead>
          <tr>
            <td />
            <th scope="col">SLICE, WHEN ASKED FOR</th>
            <th scope="col">
              <span className="visually-hidden">Equal?</span>
            </th>
            <th scope="col">FILE, READ BACK</th>
          </tr>
        </thead>
        <tbody>
          <ProofLine name="rows" slice={slice} file={formatCount(manifest.rows)} />
          <ProofLine name="digest" slice={job.digest} file={manifest.digest} />
        </tbody>
      </table>
    </>
  );
}

/** One number of the slice beside that of the file, and whether they are equal. */
function ProofLine(props: { name: string; slice: string | null; file: string }): ReactNode {
  const { name, slice, file } = props;
  const isEqual = slice === file;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{slice ?? '–'}</td>
      <td>
        <span className={isEqual ? 'equal ok' : 'equal danger'}>
          <span aria-hidden="true">{isEqual ? '=' : '≠'}</span>
          <span className="visually-hidden">{isEqual ? 'equal' : 'differs'}</span>
        </span>
      </td>
      <td>{file}</td>
    </tr>
  );
}

function Splits({ splits }: { splits: NonNullable<Manifest['splits']> }): ReactNode {
  return (
    <table className="numbers">
      <thead>
        <tr>
          <th scope="col">SPLIT</th>
          <th scope="col">ROWS</th>
          <th scope="col">DIGEST</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(splits).map(([name, { rows, digest }]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{formatCount(rows)}</td>
            <td>{digest}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The parts of the file, in their order. */
function Parts({ parts }: { parts: Manifest['parts'] }): ReactNode {
  const numbered = parts.slice(0, mostParts).map((part, index) => ({ ...part, number: index + 1 }));
  return (
    <>
      <table className={`numbers ${classes.parts}`} aria-label="Parts of the file">
        <thead>
          <tr>
            <th scope="col">PART</th>
            <th scope="col">ROWS</th>
            <th scope="col">SIZE</th>
            <th scope="col">DIGEST</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {numbered.map(({ number, rows, bytes, digest, sha256 }) => (
            <tr key={number}>
              <th scope="row">{number}</th>
              <td>{formatCount(rows)}</td>
              <td>{formatBytes(bytes)}</td>
              <td>{digest}</td>
              <td title={sha256}>{sha256.slice(0, 8)}…</td>
            </tr>
          ))}
        </tbody>
      </table>
      {parts.length > mostParts && (
        <p className="muted">
          The first {mostParts} of {formatCount(parts.length)} parts; the download has them all.
        </p>
      )}
    </>
  );
}
