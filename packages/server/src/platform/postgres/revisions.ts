/** A migration whose file was changed after databases had been made with it. */
export type Revision = {
  readonly name: string;
  /** The checksum of the file as it was. */
  readonly checksum: string;
  /** What makes a database that has it as it was into one that has it as it is now. */
  readonly change: string;
  /** Whether all of the file runs after that. */
  readonly isRepeated: boolean;
};

/** All of them lie before the first release. No file may be added: an applied migration never changes. */
export const revisions: readonly Revision[] = [
  {
    name: '0004-webhooks.sql',
    checksum: 'f8624724aebac3f5e71b39572ba79e508a5679b962cd3d591702bc5f5cf329ed',
    // Only a comment was changed.
    change: '',
    isRepeated: false,
  },
  {
    name: '0007-datasets.sql',
    checksum: '79ce71d12fa08c74303e3c71c46ff50cb34446973c50358a9cb08e6e4e360218',
    change: 'create index leaf_days_cold_idx on leaf_days (tenant, day) where count <= cold_count',
    isRepeated: false,
  },
  {
    name: '0014-ingest.sql',
    checksum: 'c5dd6924f2f60cf49e073379e56a46848ea9627b49786abf37e08403f6a9e8cd',
    change: 'drop function refuse(text, text)',
    isRepeated: true,
  },
  {
    name: '0014-ingest.sql',
    checksum: '1ed0d0aa32b09a7b1f452ac9432b5d26e4d7acbb33def0a67dcbd8ceafd4a8fe',
    change: 'drop function refuse(text, text); drop function compare_stored',
    isRepeated: true,
  },
];
