export const sizes = {
  smallest: { connections: 10, samples: 5 },
  quick: { connections: 100, samples: 50 },
  standard: { connections: 600, samples: 500 },
  full: { connections: 600, samples: 2000 },
};
