/** The stylesheet of the reference, served as `/docs/style.css`: the page's policy allows no inline style. */
export const referenceCss = `:root {
  color-scheme: light dark;
  --ground: #ffffff;
  --raised: #f5f6f8;
  --text: #1b1f24;
  --quiet: #57606a;
  --line: #d9dde2;
  --accent: #0757ae;
  --mark: #e4effc;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171a;
    --raised: #1c2025;
    --text: #e2e5e9;
    --quiet: #9aa4b0;
    --line: #30363d;
    --accent: #82b7ff;
    --mark: #1d3049;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 16px; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
a { color: var(--accent); text-underline-offset: 2px; text-decoration-thickness: 1px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
main:focus { outline: none; }
code, pre { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.skip { position: absolute; left: 8px; top: -48px; padding: 8px 16px; background: var(--ground); }
.skip:focus { top: 8px; }
header {
  display: flex;
  flex-wrap: wrap;
  justify-content: space-between;
  align-items: baseline;
  gap: 0 24px;
  padding: 12px 24px;
  border-bottom: 1px solid var(--line);
}
header p { margin: 0; }
.brand { font-weight: 650; }
.brand span, .meta, .quiet { color: var(--quiet); font-weight: 400; }
nav { padding: 16px 24px; border-bottom: 1px solid var(--line); }
nav p, .label, caption {
  margin: 20px 0 4px;
  color: var(--quiet);
  font-size: 12px;
  font-weight: 600;
  letter-spacing: 0.05em;
  text-align: left;
  text-transform: uppercase;
}
nav p:first-child { margin-top: 0; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav a { display: flex; gap: 8px; padding: 4px 0; color: var(--text); font-size: 13px; text-decoration: none; }
nav a:hover { color: var(--accent); text-decoration: underline; }
nav b { flex: 0 0 48px; color: var(--quiet); font: 600 11px/20px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
main { max-width: 944px; padding: 24px; }
h1 { margin: 0 0 8px; font-size: 24px; line-height: 32px; letter-spacing: -0.01em; }
h2 { margin: 48px 0 8px; padding-bottom: 8px; border-bottom: 1px solid var(--line); font-size: 19px; line-height: 28px; }
section:first-of-type h2 { margin-top: 24px; }
h3 { margin: 24px 0 4px; font-size: 15px; line-height: 24px; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { color: var(--accent); text-decoration: underline; }
p { max-width: 76ch; margin: 4px 0 8px; }
article { padding: 8px 0 24px; }
article + article { border-top: 1px solid var(--line); }
article h3 { margin-top: 16px; font-size: 16px; }
.call { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 12px; max-width: none; }
.call b { font: 600 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.call code { overflow-wrap: anywhere; }
.scope { color: var(--quiet); font-size: 13px; }
.scope code { color: var(--text); }
table { width: 100%; margin: 0 0 16px; border-collapse: collapse; }
caption { margin: 0; padding: 12px 0 4px; }
.hidden { position: absolute; width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); }
th, td { padding: 5px 16px 5px 0; border-top: 1px solid var(--line); font-weight: 400; text-align: left; vertical-align: top; overflow-wrap: break-word; }
thead th { color: var(--quiet); font-size: 12px; }
tbody th { width: 208px; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; }
.fields { table-layout: fixed; }
.fields tbody th { width: auto; white-space: normal; overflow-wrap: anywhere; }
.name { width: 28%; }
.place { width: 7%; }
.type { width: 28%; }
.fields .quiet { margin-left: 4px; font-size: 12px; }
tr:target th, tr:target td { background: var(--mark); }
h2:target, h3:target { background: var(--mark); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; margin: 0 0 8px; }
dd { margin: 0; }
.statuses { display: flex; flex-wrap: wrap; gap: 4px 16px; }
details { margin: 0 0 8px; }
summary { padding: 4px 0; cursor: pointer; }
pre {
  margin: 4px 0 8px;
  padding: 12px 16px;
  background: var(--raised);
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
@media (min-width: 1000px) {
  .columns { display: grid; grid-template-columns: 288px minmax(0, 1fr); }
  nav {
    position: sticky;
    top: 0;
    align-self: start;
    max-height: 100vh;
    overflow-y: auto;
    border-bottom: 0;
  }
  main { max-width: 992px; padding: 24px 48px 96px; border-left: 1px solid var(--line); }
}
@media (max-width: 640px) {
  header, nav, main { padding-left: 16px; padding-right: 16px; }
  tbody th { white-space: normal; overflow-wrap: anywhere; }
  th, td { padding-right: 8px; }
  dl { grid-template-columns: 1fr; }
  .fields thead { display: none; }
  .fields tr, .fields th, .fields td { display: block; border: 0; padding: 0; }
  .fields tbody tr { padding: 6px 0; border-top: 1px solid var(--line); }
}
@media print {
  nav, .skip { display: none; }
}
`;
