// A rate limiter of npm with its memory store: node server.mjs PRODUCT PORT LIMIT WINDOW_MS. The client is its X-Api-Key, else
// its address. It is started in a folder that has node_modules.
const [product] = process.argv.slice(2);
const [port, limit, windowMs] = process.argv.slice(3).map(Number);
const host = '127.0.0.1';

const products = {
  async 'express-rate-limit'() {
    const { ipKeyGenerator, rateLimit } = await import('express-rate-limit');
    await express(rateLimit({
      limit,
      windowMs,
      standardHeaders: 'draft-8',
      legacyHeaders: false,
      keyGenerator: (request) => request.get('X-Api-Key') || ipKeyGenerator(request.ip),
      validate: false, // it complains of a forged X-Forwarded-For on the first one
    }));
  },

  async 'rate-limiter-flexible'() {
    const { RateLimiterMemory } = await import('rate-limiter-flexible');
    const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 });
    await express((request, response, next) => limiter.consume(request.get('X-Api-Key') || request.ip)
      .then(() => next(), () => response.status(429).send('no\n')));
  },

  async 'hono-rate-limiter'() {
    const { Hono } = await import('hono');
    const { serve } = await import('@hono/node-server');
    const { rateLimiter } = await import('hono-rate-limiter');
    const app = new Hono();
    app.use(rateLimiter({ windowMs, limit, keyGenerator: (c) => c.req.header('X-Api-Key') || 'nobody' }));
    app.get('/', (c) => c.text('ok\n'));
    serve({ fetch: app.fetch, port, hostname: host });
  },

  async '@fastify/rate-limit'() {
    const { fastify } = await import('fastify');
    const app = fastify();
    await app.register(import('@fastify/rate-limit'), {
      max: limit,
      timeWindow: windowMs,
      keyGenerator: (request) => request.headers['x-api-key'] || request.ip,
    });
    app.get('/', async () => 'ok\n');
    await app.listen({ port, host });
  },

  async 'koa2-ratelimit'() {
    const { default: Koa } = await import('koa');
    const { default: { RateLimit } } = await import('koa2-ratelimit');
    const app = new Koa();
    app.use(RateLimit.middleware({
      interval: windowMs,
      max: limit,
      keyGenerator: async (c) => c.get('X-Api-Key') || c.ip,
    }));
    app.use((c) => { c.body = 'ok\n'; });
    app.listen(port, host);
  },

  async '@nestjs/throttler'() {
    await import('reflect-metadata');
    const { APP_GUARD, NestFactory } = await import('@nestjs/core');
    const { Controller, Get, Module } = await import('@nestjs/common');
    const { ThrottlerGuard, ThrottlerModule } = await import('@nestjs/throttler');
    class Guard extends ThrottlerGuard {
      async getTracker(request) { return request.headers['x-api-key'] || request.ip; }
    }
    const injected = 'design:paramtypes'; // what a compiler of TypeScript would add
    Reflect.defineMetadata(injected, Reflect.getMetadata(injected, ThrottlerGuard), Guard);
    class Greeter { greet() { return 'ok\n'; } }
    Get()(Greeter.prototype, 'greet', Object.getOwnPropertyDescriptor(Greeter.prototype, 'greet'));
    Controller()(Greeter);
    class App {}
    Module({
      imports: [ThrottlerModule.forRoot([{ ttl: windowMs, limit }])],
      controllers: [Greeter],
      providers: [{ provide: APP_GUARD, useClass: Guard }],
    })(App);
    const app = await NestFactory.create(App, { logger: ['error'] });
    await app.listen(port, host);
  },

  async 'moleculer-web'() {
    const { default: { ServiceBroker } } = await import('moleculer');
    const { default: web } = await import('moleculer-web');
    const broker = new ServiceBroker({ logger: false });
    broker.createService({ name: 'greeter', actions: { greet: () => 'ok' } });
    broker.createService({
      mixins: [web],
      settings: {
        port,
        ip: host,
        rateLimit: { window: windowMs, limit, key: (request) => request.headers['x-api-key'] },
        routes: [{ path: '/', aliases: { 'GET /': 'greeter.greet' } }],
      },
    });
    await broker.start();
  },
};

// express answers behind a middleware.
async function express(middleware) {
  const { default: create } = await import('express');
  const app = create();
  app.use(middleware);
  app.get('/', (request, response) => response.send('ok\n'));
  app.listen(port, host, 4096);
}

await products[product]();
