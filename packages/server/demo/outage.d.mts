export function playOutage(
  service: { readonly url: string; readonly token: string },
  signal: AbortSignal,
  options?: {
    /** So many incidents are reported while the receiver is gone, and for so long live ones are measured. */
    readonly missed?: number;
    readonly liveSeconds?: number;
    readonly say?: (text: string) => void;
  },
): Promise<void>;
