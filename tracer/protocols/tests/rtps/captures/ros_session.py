"""A process of ROS 2 with three nodes: `a` publishes, serves and executes, `b` subscribes, calls and requests."""

import sys
import time

import rclpy
from rclpy.action import ActionClient, ActionServer
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import SetBool
from test_msgs.action import Fibonacci

BARE = {"start_parameter_services": False, "enable_rosout": False}


def serve(request, response):
    response.success = request.data
    return response


def execute(goal):
    goal.publish_feedback(Fibonacci.Feedback())
    goal.succeed()
    return Fibonacci.Result()


def first(executor, end):
    talker, server, actor = Node("talker", namespace="/robot1"), Node("server", **BARE), Node("actor", **BARE)
    publisher = talker.create_publisher(String, "chatter", 10)
    talker.create_timer(0.2, lambda: publisher.publish(String(data="hello")))
    _service = server.create_service(SetBool, "/switch", serve)
    _action = ActionServer(actor, Fibonacci, "/fibonacci", execute)
    for node in (talker, server, actor):
        executor.add_node(node)
    while time.time() < end:
        executor.spin_once(timeout_sec=0.1)


def second(executor, end):
    listener = Node("listener", namespace="/robot1", **BARE)
    client, requester = Node("client", **BARE), Node("requester", **BARE)
    _subscription = listener.create_subscription(String, "chatter", lambda _: None, 10)
    service, action = client.create_client(SetBool, "/switch"), ActionClient(requester, Fibonacci, "/fibonacci")
    for node in (listener, client, requester):
        executor.add_node(node)

    def wait(future):
        executor.spin_until_future_complete(future, timeout_sec=1)
        return future.result()

    while time.time() < end:
        executor.spin_once(timeout_sec=0.1)
        if service.service_is_ready() and action.server_is_ready() and time.time() < end - 0.8:
            wait(service.call_async(SetBool.Request(data=True)))
            goal = wait(action.send_goal_async(Fibonacci.Goal(order=3)))
            if goal:
                wait(goal.get_result_async())


rclpy.init()
{"a": first, "b": second}[sys.argv[1]](SingleThreadedExecutor(), time.time() + float(sys.argv[2]))
