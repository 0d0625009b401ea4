/** What the scripts of in-page.mjs leave for the bench to read. */
interface Window {
  firstRowsMillis?: number;
  clickedMillis?: number;
  frameTimes?: number[];
}
