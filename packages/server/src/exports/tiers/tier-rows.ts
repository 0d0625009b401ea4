/** The rows of an export as machine CSV without header, out of one snapshot. */
export type TierRows = {
  /** What needs the snapshot's connection, and what comes before it. */
  whileConnected(): AsyncGenerator<Buffer>;
  /** The rest. */
  afterwards(): AsyncGenerator<Buffer>;
  /** Rows so far. */
  readonly rowCount: number;
  close(): Promise<void>;
};
