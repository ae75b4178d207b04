/** How long after the end of a call its submission may still reach the simulated provider, in milliseconds. */
export const SIMULATED_SETTLE_MS = 4_000;
