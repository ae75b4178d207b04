// Run by mongosh: makes one server a replica set of one member, and creates Darkroom's user in it. Safe to run again:
// if the password in the secrets was changed, it is changed in the database.
const { readFileSync } = require('node:fs');

const SET = 'rs0';
const MEMBER = 'mongo:27017';
const NOT_YET_INITIALIZED = 94;
const TRIES = 120;
const BETWEEN_TRIES_MS = 500;

const rootPassword = readFileSync('/run/secrets/mongo_root_password', 'utf8').trim();
const address = new URL(readFileSync('/run/secrets/mongo_url', 'utf8').trim());
const user = decodeURIComponent(address.username);
const database = address.searchParams.get('authSource');

const server = new Mongo(`mongodb://root:${encodeURIComponent(rootPassword)}@${MEMBER}/?authSource=admin&directConnection=true`);
const admin = server.getDB('admin');

try {
  admin.runCommand({ replSetGetStatus: 1 });
  print(`replica set ${SET} is there`);
} catch (error) {
  if (error.code !== NOT_YET_INITIALIZED) throw error;
  admin.runCommand({ replSetInitiate: { _id: SET, members: [{ _id: 0, host: MEMBER }] } });
  print(`replica set ${SET} made`);
}

let tries = 0;
while (!admin.runCommand({ hello: 1 }).isWritablePrimary) {
  tries += 1;
  if (tries === TRIES) throw new Error(`${MEMBER} has not become the primary of ${SET}.`);
  sleep(BETWEEN_TRIES_MS);
}

// Access to Darkroom's own database only: reads and writes, indexes, change streams.
const own = server.getDB(database);
const account = { pwd: decodeURIComponent(address.password), roles: [{ role: 'readWrite', db: database }] };
if (own.getUser(user) === null) {
  own.createUser({ user, ...account });
  print(`user ${user} of ${database} made`);
} else {
  own.updateUser(user, account);
  print(`user ${user} of ${database} is there; its password is the secret's`);
}
