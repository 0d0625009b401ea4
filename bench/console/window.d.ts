/** What runs inside the page leaves for the bench to read. */
interface Window {
  frameTimes?: number[];
}
