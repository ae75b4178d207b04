import { FormServer } from './form-server.js';

// A process of its own with a server for forms in the folder that the argument names. It prints its port.

const { port } = await FormServer.open({ folder: process.argv[2] as string });
process.stdout.write(String(port));
