/**
 * The chart's library asks for number formats of the browser's language as it loads, and fails on the
 * one of a browser that was started without a locale (`en-US@posix`).
 */
export async function loadTimeChart() {
  if (!isLanguage(navigator.language)) {
    Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
  }
  return (await import('./time-chart.tsx')).TimeChart;
}

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}
