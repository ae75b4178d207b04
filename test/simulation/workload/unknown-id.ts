/** An id that was never given to anything. */
export const UNKNOWN_ID = '0198c0de-0000-7000-8000-00000000beef';
