export const sizes = {
  smallest: { connections: 10, samples: 5, clients: 10 },
  quick: { connections: 100, samples: 50, clients: 50 },
  standard: { connections: 600, samples: 500, clients: 200 },
  full: { connections: 600, samples: 2000, clients: 200 },
};
