export const sizes = {
  quick: { connections: 100, samples: 50 },
  standard: { connections: 600, samples: 500 },
  full: { connections: 600, samples: 2000 },
};
