/** An incident of about 450 bytes as JSON. */
export function payloadOf(number) {
  return {
    type: 'incident.created',
    timestamp: '2026-03-05T14:07:09.123456Z',
    data: {
      number,
      title: `Shelf ${number % 977} was emptied faster than it can have been sold`,
      severity: ['low', 'medium', 'high'][number % 3],
      store: `store-${number % 417}`,
      camera: `camera-${number % 37}`,
      evidence: [`ev-${number}-a`, `ev-${number}-b`, `ev-${number}-c`],
      person: { dwell_s: (number % 900) / 10, seen_before: number % 2 === 0 },
      note: 'Compared with till and stock; two of three sources agree. Please look at the clip.',
    },
  };
}
