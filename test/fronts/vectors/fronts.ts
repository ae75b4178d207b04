/** The fronts that every vector is played on. */
export const FRONTS = ['REST', 'gRPC'] as const;
export type FrontName = (typeof FRONTS)[number];
