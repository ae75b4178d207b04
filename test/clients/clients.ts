import type { ForeignClient } from './client-absent.js';
import { GO_CLIENT } from './go-client.js';

export const CLIENTS: readonly ForeignClient[] = [GO_CLIENT];
