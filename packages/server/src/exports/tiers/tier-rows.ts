/** The rows of an export, as one tier or both write them, out of one snapshot. */
export type TierRows<Piece = Buffer> = {
  /** What needs the snapshot's connection, and what comes before it. */
  whileConnected(): AsyncGenerator<Piece>;
  /** The rest. */
  afterwards(): AsyncGenerator<Piece>;
  /** Rows so far. */
  readonly rowCount: number;
  close(): Promise<void>;
};
