import type { ForeignClient } from './foreign-client.js';
import { GO_CLIENT } from './go-client.js';
import { PYTHON_CLIENT } from './python-client.js';

export const CLIENTS: readonly ForeignClient[] = [GO_CLIENT, PYTHON_CLIENT];
