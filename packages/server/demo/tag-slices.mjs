const tags = [
  {
    tenant: 'TX',
    from: '2001-01-01',
    to: '2001-03-31',
    dataset: 'training',
    note: 'first quarter',
  },
  { tenant: 'TX', store: 'DFW', month: '2001-05', dataset: 'fine_tuning', note: 'the May storms' },
  { tenant: 'CA', dataset: 'training', note: 'all of California, and what comes' },
];

/** Tags some slices of the demo's flights, unless they are tagged already. */
export async function tagDemoSlices({ url, token }) {
  for (const tag of tags) {
    const response = await fetch(`${url}/api/v1/enrichment/tags`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(tag),
    });
    if (response.ok || response.status === 409) continue;
    throw new Error(`tagging ${tag.tenant}: ${response.status} ${await response.text()}`);
  }
  return { count: tags.length };
}
