// express-rate-limit with its memory store: node server.mjs PORT LIMIT WINDOW_MS. The client is its X-Api-Key, else its
// address. It is started in a folder that has node_modules.
import express from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';

const [port, limit, windowMs] = process.argv.slice(2).map(Number);
const app = express();
app.use(rateLimit({
  limit,
  windowMs,
  standardHeaders: 'draft-8',
  legacyHeaders: false,
  keyGenerator: (request) => request.get('X-Api-Key') || ipKeyGenerator(request.ip),
  validate: false, // it complains of a forged X-Forwarded-For on the first one
}));
app.get('/', (request, response) => response.send('ok\n'));
app.listen(port, '127.0.0.1', 4096);
