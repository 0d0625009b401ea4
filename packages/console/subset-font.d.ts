// The package has no types of its own.
declare module 'subset-font' {
  function subsetFont(
    font: Uint8Array,
    text: string,
    options: {
      targetFormat: 'woff2';
      variationAxes: Record<string, { min: number; max: number }>;
      keepFeatures: readonly string[];
    },
  ): Promise<Uint8Array>;
  export = subsetFont;
}
