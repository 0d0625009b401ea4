/** What the scripts of in-page.mjs leave for the bench to read. */
interface Window {
  firstRowsMs?: number;
  clickedMs?: number;
  frameTimes?: number[];
}
